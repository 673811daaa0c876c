/**
 * A mutex that its owner may acquire again, up to a limit, and must release as often. Where `acquire` is answered with a token, that of the
 * first acquire of a hold is higher than all before, and the others repeat it.
 */

import type { Operation } from '../history/operations/operation.ts';
import { describeFenced, granted, tokenOf, type FencedState } from './fenced-mutex.ts';
import type { Action, Model } from './model.ts';
import { isOk, unknownOperation } from './operations.ts';
import { EXPIRE, expireAction, heldBy, ownerOf } from './owners.ts';

export interface ReentrantState extends FencedState {
  readonly count: number;
}

export function reentrantMutex(limit = Number.POSITIVE_INFINITY): Model<ReentrantState> {
  return {
    name: 'reentrant-mutex',
    initial: { owner: null, token: 0, highest: 0, count: 0 },
    keyOf: ({ owner, token, highest, count }) => `${count} ${token} ${highest} ${owner === null ? '' : `=${owner}`}`,
    describe: (state) => describeFenced(state) + (state.count > 0 ? `, ${state.count} times` : ''),
    actionOf(operation) {
      switch (operation.f) {
        case 'acquire':
          return acquire(operation, limit);
        case 'release':
          return release(operation);
        case EXPIRE:
          return expireAction(operation, (state, expired) => (state.owner === expired ? freed(state) : state));
        default:
          throw unknownOperation('reentrant-mutex', operation, ['acquire', 'release', EXPIRE]);
      }
    },
  };
}

function acquire(operation: Operation, limit: number): Action<ReentrantState> {
  const owner = ownerOf(operation);
  const token = isOk(operation) ? tokenOf(operation, 'output') : 0;
  return {
    text: token === 0 ? 'acquired it' : `acquired it with token ${token}`,
    observes: false,
    same: `acquire ${token} ${owner}`,
    leaves: heldBy(owner),
    sees: [],
    step: (state) => {
      if (state.owner !== null && state.owner !== owner) return undefined;
      if (state.count >= limit) return undefined;
      if (state.owner === null) {
        const next = granted(state, owner, token);
        return next === undefined ? undefined : { ...next, count: 1 };
      }
      return again(state, token);
    },
  };
}

function again(state: ReentrantState, token: number): ReentrantState | undefined {
  const count = state.count + 1;
  if (token === 0 || token === state.token) return { ...state, count };
  // The hold's token was not reported with its first acquire: this is it, and `highest` was the least that it could be.
  if (state.token === 0 && token >= state.highest) return { ...state, token, highest: token, count };
  return undefined;
}

function release(operation: Operation): Action<ReentrantState> {
  const owner = ownerOf(operation);
  return {
    text: 'released it',
    observes: false,
    same: `release ${owner}`,
    sees: [heldBy(owner)],
    step: (state) => {
      if (state.owner !== owner) return undefined;
      return state.count === 1 ? freed(state) : { ...state, count: state.count - 1 };
    },
  };
}

function freed({ highest }: ReentrantState): ReentrantState {
  return { owner: null, token: 0, highest, count: 0 };
}
