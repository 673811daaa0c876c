import type { Entry, KeyRange, Reader } from '../../engines/engine.ts';
import { mapKey, type Get, type Write } from '../../engines/group-commit.ts';

/** Writes that an engine does not have yet, on top of what it has. The last one of a key counts. */
export class Overlay {
  readonly #writes = new Map<string, Write & { readonly index: number }>();

  /** Indexes never fall. */
  add(index: number, writes: readonly Write[]): void {
    for (const write of writes) {
      const key = mapKey(write.key);
      // The map is in the order of the indexes.
      this.#writes.delete(key);
      this.#writes.set(key, { ...write, index });
    }
  }

  /** The engine has everything up to there. */
  drop(upTo: number): void {
    for (const [key, { index }] of this.#writes) {
      if (index > upTo) return;
      this.#writes.delete(key);
    }
  }

  clear(): void {
    this.#writes.clear();
  }

  get(key: Uint8Array, below: Get): Uint8Array | undefined {
    const write = this.#writes.get(mapKey(key));
    return write === undefined ? below(key) : write.value;
  }

  /** What is added or dropped later is not in it. */
  copy(): Overlay {
    const copy = new Overlay();
    for (const [key, write] of this.#writes) copy.#writes.set(key, write);
    return copy;
  }

  /** A reader of what the engine will have. */
  over(reader: Reader): Reader {
    return {
      get: (key) => this.get(key, (each) => reader.get(each)),
      range: (range) => this.#range(reader, range),
    };
  }

  #range(reader: Reader, { from, to, limit }: KeyRange): Entry[] {
    if (this.#writes.size === 0) return reader.range({ from, to, limit });
    const above = [...this.#writes.values()].filter(({ key }) => isBetween(key, from, to));
    // Each of them may remove one that the engine has.
    const found = reader.range({ from, to, limit: limit + above.length });
    const entries = new Map(found.map((entry) => [mapKey(entry.key), entry]));
    for (const { key, value } of above) {
      if (value === undefined) entries.delete(mapKey(key));
      else entries.set(mapKey(key), { key, value });
    }
    return [...entries.values()].toSorted((a, b) => Buffer.compare(a.key, b.key)).slice(0, Math.max(0, limit));
  }
}

function isBetween(key: Uint8Array, from: Uint8Array, to: Uint8Array): boolean {
  return Buffer.compare(key, from) >= 0 && Buffer.compare(key, to) < 0;
}
