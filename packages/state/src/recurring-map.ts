/**
 * A map whose keys go and come again, as the names of locks do. A Map writes a new table whenever enough keys have come since the last one, and
 * each table holds the next: one that has grown old keeps all that follow, with their values, until a major collection. So a key that goes
 * stays in the table without a value, and when there are too many of those the others move to a new Map.
 */

import type { Listed } from './queries/listing-index.ts';

/** Keys without a value that may be there in any case; beyond it, as many as there are others. */
const LEAST_IDLE_KEYS = 1_024;

export class RecurringMap<K, V extends object> implements Listed<K> {
  #entries = new Map<K, V | undefined>();
  #size = 0;
  readonly #moved: () => void;

  /** `moved`: what goes through its keys has to begin anew. */
  constructor(moved: () => void = () => undefined) {
    this.#moved = moved;
  }

  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  has(key: K): boolean {
    return this.#entries.get(key) !== undefined;
  }

  set(key: K, value: V): void {
    if (!this.has(key)) this.#size += 1;
    this.#entries.set(key, value);
  }

  delete(key: K): void {
    if (!this.has(key)) return;
    this.#size -= 1;
    this.#entries.set(key, undefined);
    if (this.#entries.size - this.#size > Math.max(LEAST_IDLE_KEYS, this.#size)) this.#move();
  }

  /** In no order; with some that are gone. Goes on over what is added meanwhile, until they move. */
  keys(): Iterator<K> {
    return this.#entries.keys();
  }

  /** In no order. */
  *values(): Generator<V, void, undefined> {
    for (const value of this.#entries.values()) if (value !== undefined) yield value;
  }

  #move(): void {
    const kept = new Map<K, V | undefined>();
    for (const [key, value] of this.#entries) if (value !== undefined) kept.set(key, value);
    this.#entries = kept;
    this.#moved();
  }
}
