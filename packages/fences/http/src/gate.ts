/**
 * Makes the check of a token and the work of a handler one step. A request with a higher floor waits until those of older holders have ended, then
 * raises the floor, and is let in; those that come behind it are judged after it. So no handler of an older holder works on behind it.
 */

import { FenceError, floorOf, StaleTokenError, type Holder } from '@holdfast/fence';
import { succeeds } from '@holdfast/fence/adapter';
import type { FloorStore } from './floors.ts';

/** A request that was let in. It is a holder, so that the fence of a database takes it as well. */
export interface FencedRequest extends Holder {
  readonly scope: string;
  readonly floor: number;
  /** Aborts when a newer holder waits for this request to end. */
  readonly signal: AbortSignal;
}

export interface Entry {
  readonly fenced: FencedRequest;
  /** The handler has ended. */
  leave(): void;
}

interface Inside {
  readonly token: number;
  readonly controller: AbortController;
}

interface ScopeState {
  /** What this process knows; others may have raised it further. */
  floor: number;
  readonly inside: Set<Inside>;
  /** The last of those that wait for their turn to be judged. */
  turn: Promise<unknown>;
  waiting: number;
  left: () => void;
}

/** Requests that wait for their turn in one scope. */
const MAX_WAITING = 10_000;

const gates = new WeakMap<FloorStore, Gate>();

/**
 * All handlers whose floors are in one store have one gate: what the handler of another route does would else go on behind it.
 *
 * @param made the gate of a store that has none yet; tests make broken ones
 */
export function gateOf(floors: FloorStore, made: (floors: FloorStore) => Gate = (store) => new Gate(store)): Gate {
  const gate = gates.get(floors) ?? made(floors);
  gates.set(floors, gate);
  return gate;
}

export class Gate {
  readonly #floors: FloorStore;
  readonly #scopes = new Map<string, ScopeState>();

  constructor(floors: FloorStore) {
    this.#floors = floors;
  }

  /** @throws StaleTokenError; FenceError TIMEOUT where older ones are at work for longer than the wait; what the store of floors rejects with */
  async enter(scope: string, holder: Holder, waitMs: number): Promise<Entry> {
    const state = this.#state(scope);
    if (state.waiting >= MAX_WAITING) {
      throw new FenceError('TIMEOUT', `${MAX_WAITING} requests wait in scope ${JSON.stringify(scope)}: try again`);
    }
    state.waiting += 1;
    const judging = state.turn.then(async () => await this.#judge(scope, state, holder, waitMs));
    state.turn = succeeds(judging);
    try {
      return await judging;
    } finally {
      state.waiting -= 1;
      this.#forget(scope, state);
    }
  }

  async #judge(scope: string, state: ScopeState, holder: Holder, waitMs: number): Promise<Entry> {
    if (holder.token < state.floor) throw new StaleTokenError(scope, holder.token, state.floor);
    const floor = floorOf(holder);
    await this.#waitForOlder(scope, state, holder, waitMs);
    // Each time, since another process may have raised it: what is remembered here only refuses.
    await this.#floors.raise(scope, holder).catch((error: unknown) => {
      if (error instanceof StaleTokenError) state.floor = Math.max(state.floor, error.highest);
      throw error;
    });
    state.floor = Math.max(state.floor, floor);
    const inside: Inside = { token: holder.token, controller: new AbortController() };
    state.inside.add(inside);
    return {
      fenced: { scope, token: holder.token, floor, signal: inside.controller.signal },
      leave: () => {
        state.inside.delete(inside);
        state.left();
        this.#forget(scope, state);
      },
    };
  }

  /** Also where it is refused afterwards, nothing was changed: the floor is raised behind this. */
  async #waitForOlder(scope: string, state: ScopeState, holder: Holder, waitMs: number): Promise<void> {
    const { token } = holder;
    const floor = floorOf(holder);
    const older = (): readonly Inside[] => [...state.inside].filter((each) => each.token < floor);
    if (older().length === 0) return;
    if (token < (await this.#floors.highest(scope))) return;
    const endsAt = performance.now() + waitMs;
    for (let inside = older(); inside.length > 0; inside = older()) {
      for (const { controller } of inside) controller.abort(newerHolder(token));
      const leftMs = endsAt - performance.now();
      if (leftMs <= 0) {
        const text = `requests of older holders are at work in scope ${JSON.stringify(scope)} for longer than ${waitMs} ms`;
        throw new FenceError('TIMEOUT', `${text}; they end by themselves, so try again`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        state.left = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  #state(scope: string): ScopeState {
    let state = this.#scopes.get(scope);
    if (state === undefined) {
      state = { floor: 0, inside: new Set(), turn: Promise.resolve(), waiting: 0, left: () => undefined };
      this.#scopes.set(scope, state);
    }
    return state;
  }

  /** The floor is in the store. */
  #forget(scope: string, state: ScopeState): void {
    if (state.inside.size === 0 && state.waiting === 0) this.#scopes.delete(scope);
  }
}

/** Why the signal of a request aborted. */
function newerHolder(token: number): Error {
  const text = `a newer holder, of token ${token}, waits for this request to end`;
  return Object.assign(new Error(text), { name: 'NewerHolder' });
}
