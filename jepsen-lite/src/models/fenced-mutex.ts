/**
 * A mutex whose every grant carries a fencing token, higher than all before it. `acquire` is answered with the token, or with a record that
 * has it as `token` or `fence`; none, or 0, is a token that nobody knows. `release` may name the token of the hold that it ends. `status`
 * is answered with the holder as `client` and its token, or with null where nobody holds it.
 */

import type { Operation } from '../history/operations/operation.ts';
import type { Action, Model } from './model.ts';
import { isOk, numberIn, unknownOperation } from './operations.ts';
import { EXPIRE, expireAction, heldBy, ownerOf } from './owners.ts';

export interface FencedState {
  readonly owner: string | null;
  /** Of the hold; 0: unknown. */
  readonly token: number;
  /** The least that the highest token of all can be. */
  readonly highest: number;
}

export function fencedMutex(): Model<FencedState> {
  return {
    name: 'fenced-mutex',
    initial: { owner: null, token: 0, highest: 0 },
    keyOf: ({ owner, token, highest }) => `${token} ${highest} ${owner === null ? '' : `=${owner}`}`,
    describe: describeFenced,
    actionOf(operation) {
      switch (operation.f) {
        case 'acquire':
          return acquire(operation);
        case 'release':
          return release(operation);
        case 'status':
          return status(operation);
        case EXPIRE:
          return expireAction(operation, (state, expired) => (state.owner === expired ? freed(state) : state));
        default:
          throw unknownOperation('fenced-mutex', operation, ['acquire', 'release', 'status', EXPIRE]);
      }
    },
  };
}

export function describeFenced({ owner, token, highest }: FencedState): string {
  const known = token === 0 ? 'an unknown token' : `token ${token}`;
  return `${owner === null ? 'free' : `held by ${owner} with ${known}`}, highest token ${highest}`;
}

/** 0: unknown. */
export function tokenOf(operation: Operation, of: 'input' | 'output'): number {
  return numberIn(operation, operation[of], 'token', 'fence') ?? 0;
}

/** Tokens are whole numbers: an unknown one is at least the next. */
export function granted(state: FencedState, owner: string, token: number): FencedState | undefined {
  if (token !== 0 && token <= state.highest) return undefined;
  return { owner, token, highest: token === 0 ? state.highest + 1 : token };
}

function acquire(operation: Operation): Action<FencedState> {
  const owner = ownerOf(operation);
  const token = isOk(operation) ? tokenOf(operation, 'output') : 0;
  return {
    text: token === 0 ? 'acquired it' : `acquired it with token ${token}`,
    observes: false,
    same: `acquire ${token} ${owner}`,
    leaves: heldBy(owner),
    sees: [],
    step: (state) => (state.owner === null ? granted(state, owner, token) : undefined),
  };
}

function release(operation: Operation): Action<FencedState> {
  const owner = ownerOf(operation);
  const token = tokenOf(operation, 'input');
  return {
    text: token === 0 ? 'released it' : `released it, which it held with token ${token}`,
    observes: false,
    same: `release ${token} ${owner}`,
    sees: [heldBy(owner)],
    step: (state) => {
      if (state.owner !== owner) return undefined;
      if (token === 0 || token === state.token) return freed(state);
      // The grant's own answer got lost: this is its token, and `highest` was the least that it could be.
      return state.token === 0 && token >= state.highest ? freed({ ...state, highest: token }) : undefined;
    },
  };
}

function status(operation: Operation): Action<FencedState> {
  if (!isOk(operation)) return { text: 'asked who holds it', observes: true, same: 'status', step: (state) => state };
  if (operation.output === null) {
    return {
      text: 'saw that nobody holds it',
      observes: true,
      same: 'status free',
      sees: [],
      step: (state) => (state.owner === null ? state : undefined),
    };
  }
  const holder = ownerOf({ ...operation, input: null });
  const token = tokenOf(operation, 'output');
  return {
    text: `saw that ${holder} holds it with token ${token}`,
    // It may tell what the token of the hold is.
    observes: false,
    same: `status ${token} ${holder}`,
    sees: [heldBy(holder)],
    step: (state) => {
      if (state.owner !== holder) return undefined;
      if (token === 0 || state.token === token) return state;
      return state.token === 0 && token >= state.highest ? { owner: holder, token, highest: token } : undefined;
    },
  };
}

function freed({ highest }: FencedState): FencedState {
  return { owner: null, token: 0, highest };
}
