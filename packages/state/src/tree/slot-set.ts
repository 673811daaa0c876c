/**
 * A set of slots, a bit for each: of many that lie side by side it takes next to nothing, where a Set would grow, and be filled anew,
 * again and again.
 */

import type { NodeSlot } from './node-slot.ts';

/** 128 bytes a page. */
const PAGE_BITS = 10;
const PAGE_WORDS = 1 << (PAGE_BITS - 5);

export class SlotSet {
  readonly #pages = new Map<number, Uint32Array>();
  /** That was looked at last: the next slot is most often in the same. */
  #page: Uint32Array | undefined;
  #pageNumber = -1;

  has(slot: NodeSlot): boolean {
    return ((this.#pageOf(slot)?.[wordOf(slot)] ?? 0) & bitOf(slot)) !== 0;
  }

  add(slot: NodeSlot): void {
    let page = this.#pageOf(slot);
    if (page === undefined) {
      page = new Uint32Array(PAGE_WORDS);
      this.#pages.set(slot >>> PAGE_BITS, page);
      this.#page = page;
    }
    page[wordOf(slot)] = (page[wordOf(slot)] ?? 0) | bitOf(slot);
  }

  delete(slot: NodeSlot): void {
    const page = this.#pageOf(slot);
    if (page !== undefined) page[wordOf(slot)] = (page[wordOf(slot)] ?? 0) & ~bitOf(slot);
  }

  #pageOf(slot: NodeSlot): Uint32Array | undefined {
    const number = slot >>> PAGE_BITS;
    if (number !== this.#pageNumber) {
      this.#pageNumber = number;
      this.#page = this.#pages.get(number);
    }
    return this.#page;
  }
}

function wordOf(slot: NodeSlot): number {
  return (slot >>> 5) % PAGE_WORDS;
}

function bitOf(slot: NodeSlot): number {
  return 1 << (slot & 31);
}
