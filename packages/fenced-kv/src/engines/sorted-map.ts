/** An ordered map of bytes in memory: constant-time reads, ranges in key order; an insertion moves the keys behind it. */

import type { Entry, KeyRange, Reader } from './engine.ts';
import { mapKey } from './group-commit.ts';
import type { Write } from './group-commit.ts';

export class SortedMap implements Reader {
  readonly #entries = new Map<string, Entry>();
  readonly #order: string[] = [];

  get size(): number {
    return this.#order.length;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    return this.#entries.get(mapKey(key))?.value;
  }

  range({ from, to, limit }: KeyRange): Entry[] {
    const first = this.#position(mapKey(from));
    const last = Math.min(this.#position(mapKey(to)), first + Math.max(limit, 0));
    return this.#order.slice(first, last).flatMap((name) => this.#entries.get(name) ?? []);
  }

  apply({ key, value }: Write): void {
    const name = mapKey(key);
    const known = this.#entries.has(name);
    if (value !== undefined) {
      if (!known) this.#order.splice(this.#position(name), 0, name);
      this.#entries.set(name, { key, value });
    } else if (known) {
      this.#order.splice(this.#position(name), 1);
      this.#entries.delete(name);
    }
  }

  entries(): Entry[] {
    return this.#order.flatMap((name) => this.#entries.get(name) ?? []);
  }

  /** Index of the first key that is not before `name`. */
  #position(name: string): number {
    let low = 0;
    let high = this.#order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#order[middle] ?? '') < name) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
