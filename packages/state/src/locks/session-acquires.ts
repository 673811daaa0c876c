/** The waits and holds of one session, by acquire index. One of several locks counts as many. */

import { invariant } from '../invariant.ts';
import { utf8Length } from '../text.ts';

/** Bytes of an acquire in the attach reply beside its lock's name: tuple, string head, two numbers. */
const ACQUIRE_OVERHEAD_BYTES = 24;

/** An acquire, as far as its session counts it. */
export interface Counted {
  readonly acquireIndex: number;
  /** 0 while it waits. */
  readonly token: number;
  /** How many locks it is of. */
  readonly places: number;
  readonly lock: { readonly acquireBytes: number };
}

export class SessionAcquires<T extends Counted> {
  /** Most sessions have one at a time: a table would be made anew for each. */
  #single: T | undefined;
  /** All the others. */
  #others: Map<number, T> | undefined;
  #places = 0;
  #listBytes = 0;
  /** How many of them are holds. */
  holds = 0;

  get size(): number {
    return this.#places;
  }

  /** Their size as the attach reply lists them. */
  get listBytes(): number {
    return this.#listBytes;
  }

  get(acquireIndex: number): T | undefined {
    if (this.#single?.acquireIndex === acquireIndex) return this.#single;
    return this.#others?.get(acquireIndex);
  }

  add(acquire: T): void {
    if (this.#single === undefined) this.#single = acquire;
    else (this.#others ??= new Map()).set(acquire.acquireIndex, acquire);
    this.#places += acquire.places;
    this.#listBytes += acquire.lock.acquireBytes;
  }

  remove(acquire: T): void {
    const { acquireIndex } = acquire;
    let removed = true;
    if (this.#single?.acquireIndex === acquireIndex) this.#single = undefined;
    else removed = this.#others?.delete(acquireIndex) ?? false;
    invariant(removed, 'an acquire belongs to its session');
    if (acquire.token !== 0) this.holds -= acquire.places;
    this.#places -= acquire.places;
    this.#listBytes -= acquire.lock.acquireBytes;
  }

  inOrder(): T[] {
    const all = [...(this.#others?.values() ?? [])];
    if (this.#single !== undefined) all.push(this.#single);
    return all.sort((left, right) => left.acquireIndex - right.acquireIndex);
  }
}

/** What one acquire of that lock adds to the attach reply, at most. */
export function acquireBytes(lock: string): number {
  return utf8Length(lock) + ACQUIRE_OVERHEAD_BYTES;
}
