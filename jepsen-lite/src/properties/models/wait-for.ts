/**
 * Who waits for whom, as plainly as it can be said, of what the queues show. A wait leads to those who hold what it asks for, where they are in its
 * way and wait themselves, and to the wait before it; a hold leads to the waits of its session for other locks.
 */

import { mayJoin, requestOf, type Requester } from '../../models/holders.ts';
import type { View } from '../observation/view.ts';

/** An acquire in the queue of one lock. */
interface Place extends Requester {
  readonly lock: string;
  readonly session: number;
  readonly acquireIndex: number;
  readonly token: number;
}

export class WaitFor {
  readonly #places: readonly Place[];

  constructor(view: View) {
    const kinds = new Map(view.locks.map(({ lock, kind }) => [lock, kind]));
    this.#places = [...view.queues].flatMap(([lock, queue]) =>
      queue.map(({ session, acquireIndex, token, parameters }) => {
        return { lock, session, acquireIndex, token, request: requestOf(kinds.get(lock), parameters) };
      }),
    );
  }

  /** In order. */
  get waits(): readonly number[] {
    const waits = this.#places.filter(({ token }) => token === 0).map(({ acquireIndex }) => acquireIndex);
    return [...new Set(waits)].sort((left, right) => left - right);
  }

  /** Whether one comes to the other, over waits that are not younger than `youngest`. */
  leads(from: number, to: number, youngest = Infinity): boolean {
    const seen = new Set<number>();
    const open = [from];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const next of this.#next(at)) {
        if (seen.has(next) || (this.#isWait(next) && next > youngest)) continue;
        if (next === to) return true;
        seen.add(next);
        open.push(next);
      }
    }
    return false;
  }

  #next(acquireIndex: number): readonly number[] {
    return this.#isWait(acquireIndex) ? this.#waitsFor(acquireIndex) : this.#onBehalfOf(acquireIndex);
  }

  #waitsFor(acquireIndex: number): readonly number[] {
    return this.#of(acquireIndex).flatMap((place) => {
      const queue = this.#places.filter(({ lock }) => lock === place.lock);
      const stuck = queue.filter(({ token, session }) => token !== 0 && this.#hasWaits(session));
      const before = queue.filter((other) => other.token === 0 && other.acquireIndex < acquireIndex).at(-1);
      const blocking = mayJoin(stuck, place) ? [] : stuck.map((holder) => holder.acquireIndex);
      return before === undefined ? blocking : [...blocking, before.acquireIndex];
    });
  }

  #onBehalfOf(acquireIndex: number): readonly number[] {
    const own = this.#of(acquireIndex);
    const locks = own.map(({ lock }) => lock);
    const waits = this.#places.filter(({ session, token }) => session === own[0]?.session && token === 0);
    const shared = waits.filter(({ lock }) => locks.includes(lock)).map((wait) => wait.acquireIndex);
    return waits.map((wait) => wait.acquireIndex).filter((wait) => !shared.includes(wait));
  }

  #hasWaits(session: number): boolean {
    return this.#places.some((place) => place.session === session && place.token === 0);
  }

  #isWait(acquireIndex: number): boolean {
    return this.#of(acquireIndex)[0]?.token === 0;
  }

  #of(acquireIndex: number): readonly Place[] {
    return this.#places.filter((place) => place.acquireIndex === acquireIndex);
  }
}
