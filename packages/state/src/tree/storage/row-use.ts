/** Which rows have a node. A row without one is linked to the next such row, in the order in which they are used again. */

import { NO_ROW } from './child-table.ts';
import { NODE_WORDS, WordField, WORDS_AT, type NodeRows } from './node-rows.ts';

/** As a parent: the row has no node. */
export const NO_NODE = 0xffff_ffff;

/** What the next row is filled with. */
const words = new Uint32Array(NODE_WORDS);

export function isRowUsed(rows: NodeRows, row: number): boolean {
  return row < rows.size && rows.word(row, WordField.parent) !== NO_NODE;
}

/** Every field but its place among its siblings, and its cells, of which it has none. */
export function fillRow(rows: NodeRows, row: number, parent: number, numbers: Float64Array): void {
  words.fill(0);
  words[WordField.parent - WORDS_AT] = parent;
  words[WordField.firstChild - WORDS_AT] = NO_ROW;
  rows.setNumbers(row, numbers);
  rows.setWords(row, words);
}

/** `next`: the row that was to be used next until now; this one comes before it. */
export function leaveRow(rows: NodeRows, row: number, next: number): void {
  rows.setWord(row, WordField.parent, NO_NODE);
  rows.setWord(row, WordField.next, next);
}
