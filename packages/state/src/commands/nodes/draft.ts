/**
 * Several commands of one entry, each planned over what the ones before will have done, while nothing has changed. Then all of them are
 * made, in their order, or, by leaving the draft alone, none.
 */

import { invariant } from '../../invariant.ts';
import type { StateLimits } from '../../limits.ts';
import { DELAY_EXTRA_BYTES } from '../../locks/lock-delay.ts';
import type { Lock, QueuedAcquire } from '../../locks/lock.ts';
import type { Session } from '../../sessions/session.ts';
import type { State } from '../../state.ts';
import { ExtraTag } from '../../tree/extra-tag.ts';
import type { NodeSlot } from '../../tree/node-slot.ts';
import { extrasBytes } from '../../tree/storage/node-extras.ts';
import { isStandIn, placeOfStandIn, TreeDraft } from '../../tree/tree-draft.ts';
import type { Rules } from '../../versions.ts';
import type { Creation, PlannedChange } from './change.ts';
import { extraBytesOfSet, type PlanView } from './plan-view.ts';

/** How changes are made; a node that goes is most of thousands of them. */
export interface Makers<T> {
  readonly change: (state: State, change: PlannedChange) => T;
  readonly deletion: (state: State, node: NodeSlot) => T;
}

export class Draft implements PlanView {
  readonly nodes: TreeDraft;
  readonly locks: PlanView['locks'];
  readonly rules: Rules;
  readonly limits: StateLimits;
  readonly index: number;
  readonly stamp: number;
  readonly #state: State;
  /** Of a node that goes, as most of thousands of changes are, no more than the node. */
  readonly #changes: (PlannedChange | NodeSlot)[] = [];
  /** By the stand-in of what it makes: −1 is the first. */
  readonly #creations: Creation[] = [];
  /** Locks that will be delayed, and are not yet. */
  readonly #delayed = new Set<Lock>();
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
    this.#changes.push(change.type === 'delete' ? change.node : change);
    switch (change.type) {
      case 'check':
        return;
      case 'create':
        this.#create(change);
        return;
      case 'set': {
        const { node, data } = change;
        const more = extraBytesOfSet(this.nodes, node, data);
        this.nodes.setData(node, data?.length ?? 0, data !== undefined, more);
        return;
      }
      case 'delete':
        this.#countEphemeral(this.nodes.ephemeralOwner(change.node), -1);
        this.nodes.remove(change.node);
        return;
      case 'revoke':
        this.#revoke(change.acquire);
    }
  }

  /** Makes all changes, each as `make` does, and returns what that returned. Nothing else may have changed since the draft began. */
  commit<T>(make: Makers<T>): T[] {
    const state = this.#state;
    invariant(state.index === this.index, 'a draft ends with the entry in which it began');
    return this.#changes.map((change) =>
      typeof change === 'number'
        ? make.deletion(state, this.#placeOf(change))
        : make.change(state, this.#inPlace(change)),
    );
  }

  #create(change: Creation): void {
    const { parent, name, data, ephemeralOwner, extras } = change;
    this.#countEphemeral(ephemeralOwner, 1);
    const hasData = extras === undefined || extras.every(({ tag }) => tag !== ExtraTag.noData);
    const extraBytes = extras === undefined ? 0 : extrasBytes(extras);
    this.nodes.create({ parent, name, ephemeralOwner, dataLength: data.length, hasData, extraBytes });
    this.#creations.push(change);
  }

  /** An idle lock leaves nothing: its container goes with the last of its queue, unless the lock is delayed. */
  #revoke(acquire: QueuedAcquire): void {
    const delays = acquire.token !== 0 && acquire.options.lockDelayMs > 0;
    for (const { node, lock } of acquire.parts ?? [acquire]) {
      this.nodes.remove(node);
      if (delays) this.#delay(lock);
      const stays = lock.delay !== undefined || this.#delayed.has(lock);
      if (!stays && this.nodes.childCount(lock.container) === 0) this.nodes.remove(lock.container);
    }
  }

  #delay(lock: Lock): void {
    if (lock.delay !== undefined || this.#delayed.has(lock)) return;
    this.#delayed.add(lock);
    this.nodes.addExtraBytes(lock.container, DELAY_EXTRA_BYTES);
  }

  #countEphemeral(owner: number, more: number): void {
    if (owner !== 0) this.#moreEphemerals.set(owner, (this.#moreEphemerals.get(owner) ?? 0) + more);
  }

  /** The change of nodes that exist now, some of them made since it was planned. */
  #inPlace(change: PlannedChange): PlannedChange {
    switch (change.type) {
      case 'create':
        return isStandIn(change.parent) ? { ...change, parent: this.#placeOf(change.parent) } : change;
      case 'set':
      case 'delete':
        return isStandIn(change.node) ? { ...change, node: this.#placeOf(change.node) } : change;
      case 'check':
      case 'revoke':
        return change;
    }
  }

  /** Of a node that was made and is to be changed now: nobody else can have its name. */
  #placeOf(node: NodeSlot): NodeSlot {
    if (!isStandIn(node)) return node;
    const creation = this.#creations[placeOfStandIn(node)];
    invariant(creation !== undefined, 'a stand-in stands for a creation');
    const place = this.#state.nodes.child(this.#placeOf(creation.parent), creation.name);
    invariant(place !== undefined, 'a node is made before it is changed');
    return place;
  }
}
