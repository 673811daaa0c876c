/**
 * A row of numbers for each node, in pages: rows are added without copying those that are there, a node's fields are next to
 * each other, and the garbage collector sees a few large arrays. Which rows are in use is not known here.
 */

/** Doubles, since counters go to 2^53: 32 bits would be used up by a busy node within months. Snapshots have them in this order, too. */
export const NumberField = {
  czxid: 0,
  mzxid: 1,
  pzxid: 2,
  ctime: 3,
  mtime: 4,
  version: 5,
  cversion: 6,
  creations: 7,
  ephemeralOwner: 8,
} as const;
export type NumberField = (typeof NumberField)[keyof typeof NumberField];
/** How many there are. */
export const NODE_NUMBERS = 9;

/** Unsigned 32-bit words, behind the doubles. */
export const WordField = {
  parent: 18,
  firstChild: 19,
  /** Siblings; of a row without a node, the next such row. */
  next: 20,
  previous: 21,
  children: 22,
  hash: 23,
  /** The name and, behind it, the data. */
  cell: 24,
  /** UTF-16 units of the name; the lowest bit tells whether they take two bytes each. */
  nameUnits: 25,
  dataLength: 26,
  /** The cell of its extras; 0 for none. */
  extras: 27,
} as const;
export type WordField = (typeof WordField)[keyof typeof WordField];
/** How many there are. */
export const NODE_WORDS = 10;
/** The first of them. */
export const WORDS_AT = WordField.parent;

const ROW_NUMBERS = 14;
const ROW_WORDS = 2 * ROW_NUMBERS;
/** 28 KiB a page. */
const PAGE_BITS = 8;
const PAGE_ROWS = 1 << PAGE_BITS;

export class NodeRows {
  readonly #numbers: Float64Array[] = [];
  /** The same memory. */
  readonly #words: Uint32Array[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** A row of zeros, numbered from 0 on. */
  add(): number {
    if (this.#size % PAGE_ROWS === 0) {
      const page = new Float64Array(PAGE_ROWS * ROW_NUMBERS);
      this.#numbers.push(page);
      this.#words.push(new Uint32Array(page.buffer));
    }
    this.#size += 1;
    return this.#size - 1;
  }

  number(row: number, field: NumberField): number {
    return this.#numbers[row >>> PAGE_BITS]?.[(row % PAGE_ROWS) * ROW_NUMBERS + field] ?? 0;
  }

  setNumber(row: number, field: NumberField, value: number): void {
    const page = this.#numbers[row >>> PAGE_BITS];
    if (page !== undefined) page[(row % PAGE_ROWS) * ROW_NUMBERS + field] = value;
  }

  /** All of them. */
  readNumbers(row: number, into: Float64Array): void {
    const page = this.#numbers[row >>> PAGE_BITS];
    if (page === undefined) return;
    const begin = (row % PAGE_ROWS) * ROW_NUMBERS;
    for (let field = 0; field < NODE_NUMBERS; field += 1) into[field] = page[begin + field] ?? 0;
  }

  /** All of them. */
  setNumbers(row: number, numbers: Float64Array): void {
    const page = this.#numbers[row >>> PAGE_BITS];
    if (page === undefined) return;
    const begin = (row % PAGE_ROWS) * ROW_NUMBERS;
    for (let field = 0; field < NODE_NUMBERS; field += 1) page[begin + field] = numbers[field] ?? 0;
  }

  /** All of them, in the order of WordField. */
  setWords(row: number, words: Uint32Array): void {
    const page = this.#words[row >>> PAGE_BITS];
    if (page === undefined) return;
    const begin = (row % PAGE_ROWS) * ROW_WORDS + WORDS_AT;
    for (let at = 0; at < NODE_WORDS; at += 1) page[begin + at] = words[at] ?? 0;
  }

  word(row: number, field: WordField): number {
    return this.#words[row >>> PAGE_BITS]?.[(row % PAGE_ROWS) * ROW_WORDS + field] ?? 0;
  }

  setWord(row: number, field: WordField, value: number): void {
    const page = this.#words[row >>> PAGE_BITS];
    if (page !== undefined) page[(row % PAGE_ROWS) * ROW_WORDS + field] = value;
  }
}
