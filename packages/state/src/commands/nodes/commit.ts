/** Makes changes that were planned over the present state: nothing is left that could refuse them. */

import type { Reply } from '@holdfast/protocol';

import { invariant } from '../../invariant.ts';
import { DONE } from '../../replies.ts';
import { takeAway } from '../revoke.ts';
import type { State } from '../../state.ts';
import type { NodeSlot } from '../../tree/node-slot.ts';
import type { Creation, PlannedChange } from './change.ts';
import type { Makers } from './draft.ts';

export function commit(state: State, change: PlannedChange): Reply {
  switch (change.type) {
    case 'check':
      return DONE;
    case 'create':
      return { type: 'created', path: change.path, stat: state.nodes.stat(create(state, change)) };
    case 'set':
      state.nodes.setData(change.node, change.data, state.index, state.stamp);
      return { type: 'changed', stat: state.nodes.stat(change.node) };
    case 'delete':
      remove(state, change.node);
      return DONE;
    case 'revoke':
      takeAway(state, change.acquire);
      state.locks.grantPending(state.index, state.stamp, state.events);
      return DONE;
  }
}

/**
 * The same as one of several, without a reply, but for a number: of a creation the one behind the name, of `set` the version that the data have
 * now, otherwise 0. Whom it lets have a lock is to be granted it when all are made ({@link LockTable.grantPending}): a waiter that
 * another of them revokes must not hold the lock first, under the token that the next is granted it with.
 */
export const forNumbers: Makers<number> = { change: commitForNumber, deletion: removeForNumber };

function commitForNumber(state: State, change: PlannedChange): number {
  switch (change.type) {
    case 'check':
      return 0;
    case 'create':
      create(state, change);
      return change.sequence;
    case 'set':
      state.nodes.setData(change.node, change.data, state.index, state.stamp);
      return state.nodes.version(change.node);
    case 'delete':
      return removeForNumber(state, change.node);
    case 'revoke':
      takeAway(state, change.acquire);
      if (!state.rules.grantsComeLast) state.locks.grantPending(state.index, state.stamp, state.events);
      return 0;
  }
}

function removeForNumber(state: State, node: NodeSlot): number {
  remove(state, node);
  return 0;
}

function create(state: State, change: Creation): NodeSlot {
  const node = state.nodes.create(change);
  if (change.ephemeralOwner !== 0) {
    const owner = state.sessions.get(change.ephemeralOwner);
    invariant(owner !== undefined, 'an ephemeral node belongs to a living session');
    owner.ephemerals.add(node);
  }
  return node;
}

function remove(state: State, node: NodeSlot): void {
  const owner = state.nodes.ephemeralOwner(node);
  if (owner !== 0) {
    const forgotten = state.sessions.get(owner)?.ephemerals.delete(node) ?? false;
    invariant(forgotten, 'an ephemeral node belongs to a living session');
  }
  state.nodes.remove(node, state.index);
}
