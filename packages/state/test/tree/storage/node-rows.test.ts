import { describe, expect, it } from 'vitest';

import { NODE_NUMBERS, NODE_WORDS, NodeRows, NumberField, WordField } from '../../../src/tree/storage/node-rows.ts';

/** More than a page. */
const ROWS = 600;

describe('the row of a node', () => {
  it('keeps its numbers and words, whatever is written into the rows beside it', () => {
    const rows = new NodeRows();
    const numbersOf = (row: number): Float64Array =>
      Float64Array.from({ length: NODE_NUMBERS }, (_, at) => 2 ** 52 + row * 100 + at);
    const wordsOf = (row: number): Uint32Array =>
      Uint32Array.from({ length: NODE_WORDS }, (_, at) => 2 ** 31 + row * 100 + at);
    for (let row = 0; row < ROWS; row += 1) expect(rows.add()).toBe(row);
    const all = Array.from({ length: ROWS }, (_, row) => row);
    // What stands behind a part is written before it.
    for (const row of all.toReversed()) {
      rows.setWords(row, wordsOf(row));
      rows.setNumbers(row, numbersOf(row));
    }
    for (const row of all) {
      const numbers = new Float64Array(NODE_NUMBERS);
      rows.readNumbers(row, numbers);
      expect(numbers).toEqual(numbersOf(row));
      expect(rows.number(row, NumberField.ephemeralOwner)).toBe(numbersOf(row).at(-1));
      expect(Object.values(WordField).map((field) => rows.word(row, field))).toEqual([...wordsOf(row)]);
    }
  });
});
