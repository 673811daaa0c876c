/**
 * Names and data of nodes: each row has one cell of a byte slab, with the name first, and knows where it is and how long both are. The
 * bytes of a cell never leave but as copies. Where too much of the slab is idle, each change moves the cells of some rows along.
 */

import { writeText } from '@holdfast/protocol';

import { ByteSlab, NO_CELL, type CellReference } from './byte-slab.ts';
import { NodeExtras } from './node-extras.ts';
import { WordField, type NodeRows } from './node-rows.ts';
import { copyBytes } from './small-copies.ts';
import { copyNarrow, isWide, nameBytes, readName, sameName, whole, writeName, type NamePart } from './stored-name.ts';

/** Looked at with each new cell, while cells move: a copy of 32 KiB at most. */
const ROWS_AT_ONCE = 32;

export class NodeCells {
  readonly #rows: NodeRows;
  readonly #slab: ByteSlab;
  /** In cells of the same slab. */
  readonly extras: NodeExtras;
  /** While cells move: the next row to look at. Rows behind it that are new have cells in new chunks. */
  #nextRow = 0;

  constructor(rows: NodeRows, slab: ByteSlab = new ByteSlab()) {
    this.#rows = rows;
    this.#slab = slab;
    this.extras = new NodeExtras(rows, slab);
  }

  /** For a row that has none. Rows of zeros have none. */
  create(row: number, name: string, data: Uint8Array): void {
    const part = whole(name);
    const wide = isWide(part);
    const names = nameBytes(name.length, wide);
    const cell = this.#slab.allocate(names + data.length);
    const bytes = this.#slab.bytes(cell);
    const offset = this.#slab.offset(cell);
    writeName(part, wide, bytes, offset);
    bytes.set(data, offset + names);
    this.#rows.setWord(row, WordField.cell, cell);
    this.#rows.setWord(row, WordField.nameUnits, name.length * 2 + (wide ? 1 : 0));
    this.#rows.setWord(row, WordField.dataLength, data.length);
    this.#moveSome();
  }

  free(row: number): void {
    this.#slab.free(this.#cell(row), this.#length(row));
    this.#rows.setWord(row, WordField.cell, NO_CELL);
  }

  name(row: number): string {
    const { units, wide } = this.#nameForm(row);
    const cell = this.#cell(row);
    return readName(units, wide, this.#slab.bytes(cell), this.#slab.offset(cell));
  }

  /** As they are kept. */
  nameBytes(row: number): number {
    return this.#nameBytes(row);
  }

  isNamed(row: number, name: NamePart): boolean {
    const { units, wide } = this.#nameForm(row);
    if (units !== name.to - name.from) return false;
    const cell = this.#cell(row);
    return sameName(name, wide, this.#slab.bytes(cell), this.#slab.offset(cell));
  }

  /** UTF-16 units. */
  nameLength(row: number): number {
    return this.#nameForm(row).units;
  }

  /** The name as UTF-8; returns its end. */
  copyName(row: number, into: Uint8Array, at: number): number {
    const { units, wide } = this.#nameForm(row);
    const cell = this.#cell(row);
    const bytes = this.#slab.bytes(cell);
    const offset = this.#slab.offset(cell);
    return wide
      ? writeText(readName(units, wide, bytes, offset), into, at)
      : copyNarrow(units, bytes, offset, into, at);
  }

  dataLength(row: number): number {
    return this.#rows.word(row, WordField.dataLength);
  }

  data(row: number): Uint8Array {
    const cell = this.#cell(row);
    const begin = this.#slab.offset(cell) + this.#nameBytes(row);
    return copyBytes(this.#slab.bytes(cell), begin, begin + this.dataLength(row));
  }

  copyData(row: number, into: Uint8Array, at: number): void {
    const cell = this.#cell(row);
    const begin = this.#slab.offset(cell) + this.#nameBytes(row);
    into.set(this.#slab.bytes(cell).subarray(begin, begin + this.dataLength(row)), at);
  }

  setData(row: number, data: Uint8Array): void {
    const names = this.#nameBytes(row);
    const cell = data.length === this.dataLength(row) ? this.#cell(row) : this.#move(row, names, names + data.length);
    this.#slab.bytes(cell).set(data, this.#slab.offset(cell) + names);
    this.#rows.setWord(row, WordField.dataLength, data.length);
    this.#moveSome();
  }

  /** To a cell of that length, with the first bytes of the present one. */
  #move(row: number, keep: number, length: number): CellReference {
    const slab = this.#slab;
    const old = this.#cell(row);
    const fresh = slab.allocate(length);
    const from = slab.offset(old);
    slab.bytes(fresh).set(slab.bytes(old).subarray(from, from + keep), slab.offset(fresh));
    slab.free(old, this.#length(row));
    this.#rows.setWord(row, WordField.cell, fresh);
    return fresh;
  }

  #moveSome(): void {
    if (!this.#slab.moving) return;
    const end = Math.min(this.#nextRow + ROWS_AT_ONCE, this.#rows.size);
    for (let row = this.#nextRow; row < end; row += 1) {
      const length = this.#length(row);
      if (this.#slab.isOld(this.#cell(row))) this.#move(row, length, length);
      this.extras.move(row);
    }
    this.#nextRow = end;
    if (end < this.#rows.size) return;
    this.#slab.dropOld();
    this.#nextRow = 0;
  }

  /** Of the cell. */
  #length(row: number): number {
    return this.#nameBytes(row) + this.dataLength(row);
  }

  #nameForm(row: number): { readonly units: number; readonly wide: boolean } {
    const stored = this.#rows.word(row, WordField.nameUnits);
    return { units: stored >>> 1, wide: (stored & 1) !== 0 };
  }

  #nameBytes(row: number): number {
    const { units, wide } = this.#nameForm(row);
    return nameBytes(units, wide);
  }

  #cell(row: number): CellReference {
    return this.#rows.word(row, WordField.cell) as CellReference;
  }
}
