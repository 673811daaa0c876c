/**
 * A map that mostly has one entry or none, which it keeps beside its table. A Map that is emptied makes itself a new table, so it would do that
 * for each request of a client that has one under way.
 */

/** Goes through its entries in the order in which they came, as a Map does. No value is `undefined`. */
export class SmallMap<K, V extends object> {
  #firstKey: K | undefined;
  /** Older than all others; undefined where there is none, though there may be others. */
  #first: V | undefined;
  #others: Map<K, V> | undefined;

  get size(): number {
    return (this.#first === undefined ? 0 : 1) + (this.#others?.size ?? 0);
  }

  get(key: K): V | undefined {
    if (this.#first !== undefined && this.#firstKey === key) return this.#first;
    return this.#others?.get(key);
  }

  has(key: K): boolean {
    return this.get(key) !== undefined;
  }

  set(key: K, value: V): void {
    const isFirst = this.#first === undefined ? !this.#hasOthers : this.#firstKey === key;
    if (isFirst) {
      this.#firstKey = key;
      this.#first = value;
    } else (this.#others ??= new Map()).set(key, value);
  }

  delete(key: K): void {
    if (this.#first !== undefined && this.#firstKey === key) {
      this.#firstKey = undefined;
      this.#first = undefined;
    } else if (this.#hasOthers) this.#others?.delete(key);
  }

  clear(): void {
    this.#firstKey = undefined;
    this.#first = undefined;
    this.#others?.clear();
  }

  /** What is deleted meanwhile does not come any more; what is set does. */
  *values(): Generator<V, void, undefined> {
    if (this.#first !== undefined) yield this.#first;
    if (this.#others !== undefined) yield* this.#others.values();
  }

  get #hasOthers(): boolean {
    return this.#others !== undefined && this.#others.size > 0;
  }
}
