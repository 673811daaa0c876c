/** The first row at each node's slot, in pages that exist where somebody watches. */

import { NONE } from './watch-rows.ts';

const PAGE_BITS = 12;
const PAGE_SLOTS = 1 << PAGE_BITS;
const IN_PAGE = PAGE_SLOTS - 1;

export class ListHeads {
  #pages: (Uint32Array | undefined)[] = [];

  get(slot: number): number {
    return this.#pages[slot >> PAGE_BITS]?.[slot & IN_PAGE] ?? NONE;
  }

  set(slot: number, row: number): void {
    const number = slot >> PAGE_BITS;
    let page = this.#pages[number];
    if (page === undefined) {
      if (row === NONE) return;
      page = new Uint32Array(PAGE_SLOTS);
      this.#pages[number] = page;
    }
    page[slot & IN_PAGE] = row;
  }

  clear(): void {
    this.#pages = [];
  }
}
