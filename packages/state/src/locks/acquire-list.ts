/** Acquires in order of their indexes: constant cost to append, to see the first, and to take one out of the middle. */

import { invariant } from '../invariant.ts';
/** What such a list links. */
export interface Listed<T extends Listed<T>> {
  readonly acquireIndex: number;
  /** What it adds to {@link AcquireList.weight}; does not change while a list has it. */
  readonly weight: number;
  list: AcquireList<T> | undefined;
  previous: T | undefined;
  next: T | undefined;
}

export class AcquireList<T extends Listed<T>> {
  #first: T | undefined;
  #last: T | undefined;
  #size = 0;
  #weight = 0;

  get size(): number {
    return this.#size;
  }

  /** Of all together. */
  get weight(): number {
    return this.#weight;
  }

  get first(): T | undefined {
    return this.#first;
  }

  append(acquire: T): void {
    const last = this.#last;
    invariant(acquire.list === undefined, 'an acquire is in one list at a time');
    invariant(last === undefined || last.acquireIndex < acquire.acquireIndex, 'a queue is in order of acquire indexes');
    acquire.list = this;
    acquire.previous = last;
    if (last === undefined) this.#first = acquire;
    else last.next = acquire;
    this.#last = acquire;
    this.#size += 1;
    this.#weight += acquire.weight;
  }

  remove(acquire: T): void {
    invariant(acquire.list === this, 'an acquire is taken from the list that has it');
    const { previous, next } = acquire;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    acquire.list = undefined;
    acquire.previous = undefined;
    acquire.next = undefined;
    this.#size -= 1;
    this.#weight -= acquire.weight;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let acquire = this.#first; acquire !== undefined; acquire = acquire.next) yield acquire;
  }
}
