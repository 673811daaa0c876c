/**
 * Who is whose child: found by a hash table over all nodes, listed by links between siblings. Neither order nor hash ever shows: names
 * are sorted, and how long a search takes depends on a key that clients do not know.
 */

import { invariant } from '../../invariant.ts';
import { ChildTable, NO_PLACE, NO_ROW } from './child-table.ts';
import { hashOfChild, type HashKey } from './keyed-hash.ts';
import type { NodeCells } from './node-cells.ts';
import { WordField, type NodeRows } from './node-rows.ts';
import type { NamePart } from './stored-name.ts';

export class Children {
  readonly #rows: NodeRows;
  readonly #cells: NodeCells;
  readonly #key: HashKey;
  readonly #table: ChildTable;

  /** With room for so many. */
  constructor(rows: NodeRows, cells: NodeCells, key: HashKey, expected = 0) {
    this.#rows = rows;
    this.#cells = cells;
    this.#key = key;
    this.#table = new ChildTable(expected);
  }

  /** What {@link add} needs of a child that {@link find} did not find. */
  hash(parent: number, name: NamePart): number {
    return hashOfChild(this.#key, parent, name);
  }

  /** NO_ROW when there is none. */
  find(parent: number, name: NamePart, hash = this.hash(parent, name)): number {
    const table = this.#table;
    for (let place = table.first(hash); place !== NO_PLACE; place = table.next(hash, place)) {
      const row = table.rowAt(place);
      if (this.#rows.word(row, WordField.parent) === parent && this.#cells.isNamed(row, name)) return row;
    }
    return NO_ROW;
  }

  /** In order of code units. */
  names(parent: number): string[] {
    const rows = this.#rows;
    const names: string[] = [];
    let row = rows.word(parent, WordField.firstChild);
    for (; row !== NO_ROW; row = rows.word(row, WordField.next)) names.push(this.#cells.name(row));
    // The default order of sort is that of code units.
    return names.sort();
  }

  count(parent: number): number {
    return this.#rows.word(parent, WordField.children);
  }

  /** The row has its parent, but nobody of that name. */
  add(row: number, hash: number): void {
    const rows = this.#rows;
    const parent = rows.word(row, WordField.parent);
    const sibling = rows.word(parent, WordField.firstChild);
    rows.setWord(row, WordField.next, sibling);
    rows.setWord(row, WordField.previous, NO_ROW);
    if (sibling !== NO_ROW) rows.setWord(sibling, WordField.previous, row);
    rows.setWord(parent, WordField.firstChild, row);
    rows.setWord(parent, WordField.children, rows.word(parent, WordField.children) + 1);
    rows.setWord(row, WordField.hash, hash);
    this.#table.add(row, hash);
  }

  remove(row: number): void {
    const rows = this.#rows;
    const parent = rows.word(row, WordField.parent);
    const after = rows.word(row, WordField.next);
    const before = rows.word(row, WordField.previous);
    if (after !== NO_ROW) rows.setWord(after, WordField.previous, before);
    if (before === NO_ROW) rows.setWord(parent, WordField.firstChild, after);
    else rows.setWord(before, WordField.next, after);
    rows.setWord(parent, WordField.children, rows.word(parent, WordField.children) - 1);
    const removed = this.#table.remove(row, rows.word(row, WordField.hash));
    invariant(removed, 'a node is among the children of its parent');
  }
}
