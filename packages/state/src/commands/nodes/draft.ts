/**
 * Several commands of one entry, each planned over what the ones before will have done, while nothing has changed. Then all of them are
 * made, in their order, or, by leaving the draft alone, none.
 */

import type { Reply } from '@holdfast/protocol';

import { invariant } from '../../invariant.ts';
import type { StateLimits } from '../../limits.ts';
import type { QueuedAcquire } from '../../locks/lock.ts';
import type { Session } from '../../sessions/session.ts';
import type { State } from '../../state.ts';
import type { NodeSlot } from '../../tree/node-slot.ts';
import { isStandIn, TreeDraft } from '../../tree/tree-draft.ts';
import type { Rules } from '../../versions.ts';
import type { PlannedChange } from './change.ts';
import { commit } from './commit.ts';
import type { PlanView } from './plan.ts';

/** A change, and the stand-in of the node that it makes. */
interface Drafted {
  readonly change: PlannedChange;
  readonly standIn: NodeSlot | undefined;
}

export class Draft implements PlanView {
  readonly nodes: TreeDraft;
  readonly locks: PlanView['locks'];
  readonly rules: Rules;
  readonly limits: StateLimits;
  readonly index: number;
  readonly stamp: number;
  readonly #state: State;
  readonly #drafted: Drafted[] = [];
  /** By session: how many ephemeral nodes it will have more. */
  readonly #moreEphemerals = new Map<number, number>();

  constructor(state: State) {
    const { nodes, locks, rules, limits, index, stamp } = state;
    this.#state = state;
    this.nodes = new TreeDraft(nodes);
    // No command on nodes makes a queue node.
    this.locks = { acquireOf: (node) => (isStandIn(node) ? undefined : locks.acquireOf(node)) };
    this.rules = rules;
    this.limits = limits;
    this.index = index;
    this.stamp = stamp;
  }

  ephemeralsOf(session: Session): number {
    return this.#state.ephemeralsOf(session) + (this.#moreEphemerals.get(session.id) ?? 0);
  }

  /** What is planned next sees the change. It must have been planned over this draft as it is now. */
  add(change: PlannedChange): void {
    this.#drafted.push({ change, standIn: this.#overlay(change) });
  }

  /** Makes all changes. Nothing else may have changed since the draft began. */
  commit(): Reply[] {
    invariant(this.#state.index === this.index, 'a draft ends with the entry in which it began');
    const made = new Map<NodeSlot, NodeSlot>();
    return this.#drafted.map(({ change, standIn }) => {
      const placed = inPlace(change, made);
      const reply = commit(this.#state, placed);
      if (standIn !== undefined && placed.type === 'create') {
        const node = this.#state.nodes.child(placed.parent, placed.name);
        invariant(node !== undefined, 'what was made is there');
        made.set(standIn, node);
      }
      return reply;
    });
  }

  #overlay(change: PlannedChange): NodeSlot | undefined {
    switch (change.type) {
      case 'create': {
        const { parent, name, data, ephemeralOwner } = change;
        this.#countEphemeral(ephemeralOwner, 1);
        return this.nodes.create({ parent, name, ephemeralOwner, dataLength: data.length });
      }
      case 'set':
        this.nodes.setData(change.node, change.data.length);
        return undefined;
      case 'delete':
        this.#countEphemeral(this.nodes.ephemeralOwner(change.node), -1);
        this.nodes.remove(change.node);
        return undefined;
      case 'revoke':
        this.#revoke(change.acquire);
        return undefined;
    }
  }

  /** An idle lock leaves nothing: its container goes with the last of its queue. */
  #revoke({ node, lock }: QueuedAcquire): void {
    this.nodes.remove(node);
    if (this.nodes.childCount(lock.container) === 0) this.nodes.remove(lock.container);
  }

  #countEphemeral(owner: number, more: number): void {
    if (owner !== 0) this.#moreEphemerals.set(owner, (this.#moreEphemerals.get(owner) ?? 0) + more);
  }
}

/** The change of nodes that exist now, some of them made since it was planned. */
function inPlace(change: PlannedChange, made: ReadonlyMap<NodeSlot, NodeSlot>): PlannedChange {
  const placeOf = (node: NodeSlot): NodeSlot => {
    const place = isStandIn(node) ? made.get(node) : node;
    invariant(place !== undefined, 'a node is made before it is changed');
    return place;
  };
  switch (change.type) {
    case 'create':
      return { ...change, parent: placeOf(change.parent) };
    case 'set':
    case 'delete':
      return { ...change, node: placeOf(change.node) };
    case 'revoke':
      return change;
  }
}
