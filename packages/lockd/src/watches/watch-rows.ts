/**
 * Rows of numbers in pages, one for what one connection watches at one node. Each is in two lists: of its node, and of its connection.
 * A million watches are some hundred arrays, and nothing for the garbage collector to visit one by one. What the numbers mean
 * beyond the lists, watch-table.ts knows.
 */

/** Stands for no row. */
export const NONE = 0;

/** The fields of a row, by their places. */
export const RowField = {
  /** Number of the watcher, weight of the path and bits: see watch-table.ts. */
  owner: 0,
  /** Slot of the node, or the number of a path without one. */
  key: 1,
  nextOfNode: 2,
  previousOfNode: 3,
  nextOfWatcher: 4,
  previousOfWatcher: 5,
} as const;
export type RowField = (typeof RowField)[keyof typeof RowField];

const FIELDS = 6;
const PAGE_BITS = 12;
const PAGE_ROWS = 1 << PAGE_BITS;
const IN_PAGE = PAGE_ROWS - 1;

export class WatchRows {
  #pages: Uint32Array[] = [];
  /** Rows below it have been used; row 0 never is. */
  #end = NONE + 1;
  #free = NONE;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#pages.length * PAGE_ROWS * FIELDS * Uint32Array.BYTES_PER_ELEMENT;
  }

  /** With all fields 0. */
  add(): number {
    this.#size += 1;
    const row = this.#free;
    if (row !== NONE) {
      this.#free = this.get(row, RowField.nextOfNode);
      this.set(row, RowField.nextOfNode, NONE);
      return row;
    }
    const fresh = this.#end;
    this.#end += 1;
    if (fresh >> PAGE_BITS >= this.#pages.length) this.#pages.push(new Uint32Array(PAGE_ROWS * FIELDS));
    return fresh;
  }

  /** It must be in no list any more. */
  remove(row: number): void {
    this.#size -= 1;
    if (this.#size === 0) {
      // Nobody watches: the memory of those who did is given back.
      this.#pages = [];
      this.#end = NONE + 1;
      this.#free = NONE;
      return;
    }
    for (let field = 0; field < FIELDS; field += 1) this.set(row, field as RowField, NONE);
    this.set(row, RowField.nextOfNode, this.#free);
    this.#free = row;
  }

  get(row: number, field: RowField): number {
    return (this.#pages[row >> PAGE_BITS] as Uint32Array)[(row & IN_PAGE) * FIELDS + field] as number;
  }

  set(row: number, field: RowField, value: number): void {
    (this.#pages[row >> PAGE_BITS] as Uint32Array)[(row & IN_PAGE) * FIELDS + field] = value;
  }
}
