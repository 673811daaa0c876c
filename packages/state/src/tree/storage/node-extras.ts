/**
 * What few nodes have beside their fields: parameters of a lock request, a time to live, an access list. Each extra is a tag and bytes,
 * which only who knows the tag reads; so what a later version adds needs no new row and no new record. A node's extras are one cell of
 * the byte slab, in order of their tags; a node without any has the word 0 and nothing else.
 */

import { invariant } from '../../invariant.ts';
import { ExtraTag } from '../extra-tag.ts';
import { NO_CELL, type ByteSlab, type CellReference } from './byte-slab.ts';
import { WordField, type NodeRows } from './node-rows.ts';

export interface NodeExtra {
  readonly tag: number;
  readonly bytes: Uint8Array;
}

/** All extras of one node, their tags and lengths included. */
export const MAX_NODE_EXTRAS_BYTES = 16 * 1024;
const MAX_EXTRA_TAG = 0xffff;

/** In front of all: how many bytes they take. */
const LENGTH_BYTES = 4;
/** In front of each: tag (u16), length (u16). */
const HEAD_BYTES = 4;

const NONE: readonly NodeExtra[] = [];

export class NodeExtras {
  readonly #rows: NodeRows;
  readonly #slab: ByteSlab;
  /** How many nodes have one of the tag. */
  readonly #counts = new Map<number, number>();
  /** Rows with a lifetime, in no particular order: few, and there is no other way to find them than to look at all. */
  readonly #withLifetime = new Set<number>();

  constructor(rows: NodeRows, slab: ByteSlab) {
    this.#rows = rows;
    this.#slab = slab;
  }

  /** The tags that any node has, in order. */
  get tags(): readonly number[] {
    return [...this.#counts.keys()].sort((left, right) => left - right);
  }

  /** Those that have a lifetime: sort before anything depends on their order. */
  get withLifetime(): ReadonlySet<number> {
    return this.#withLifetime;
  }

  /** Of one node, together. */
  size(row: number): number {
    const cell = this.#cell(row);
    return cell === NO_CELL ? 0 : this.#length(cell) - LENGTH_BYTES;
  }

  /** In order of their tags; the bytes are copies. */
  list(row: number): readonly NodeExtra[] {
    const cell = this.#cell(row);
    if (cell === NO_CELL) return NONE;
    const bytes = this.#slab.bytes(cell);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const extras: NodeExtra[] = [];
    const start = this.#slab.offset(cell);
    const end = start + view.getUint32(start, true);
    for (let at = start + LENGTH_BYTES; at < end;) {
      const from = at + HEAD_BYTES;
      const next = from + view.getUint16(at + 2, true);
      extras.push({ tag: view.getUint16(at, true), bytes: bytes.slice(from, next) });
      at = next;
    }
    return extras;
  }

  /** Undefined when the node has none of that tag. */
  find(row: number, tag: number): Uint8Array | undefined {
    return this.#cell(row) === NO_CELL ? undefined : this.list(row).find((extra) => extra.tag === tag)?.bytes;
  }

  /** Undefined takes it away. Returns by how many bytes the node's extras grow. */
  set(row: number, tag: number, bytes: Uint8Array | undefined): number {
    invariant(Number.isInteger(tag) && tag > 0 && tag <= MAX_EXTRA_TAG, 'a tag is a number of two bytes');
    if (this.#cell(row) === NO_CELL) return bytes === undefined ? 0 : this.#setFirst(row, { tag, bytes });
    const before = this.list(row);
    const others = before.filter((extra) => extra.tag !== tag);
    const after =
      bytes === undefined ? others : [...others, { tag, bytes }].sort((left, right) => left.tag - right.tag);
    this.#write(row, after);
    this.#count(row, tag, after.length - before.length);
    return extrasBytes(after) - extrasBytes(before);
  }

  /** The node goes. Returns how many bytes its extras took. */
  clear(row: number): number {
    const cell = this.#cell(row);
    if (cell === NO_CELL) return 0;
    const slab = this.#slab;
    const bytes = slab.bytes(cell);
    const start = slab.offset(cell);
    const length = readShort(bytes, start);
    for (let at = start + LENGTH_BYTES; at < start + length; at += HEAD_BYTES + readShort(bytes, at + 2))
      this.#count(row, readShort(bytes, at), -1);
    slab.free(cell, length);
    this.#rows.setWord(row, WordField.extras, NO_CELL);
    return length - LENGTH_BYTES;
  }

  /** To a chunk that stays, if the node's cell is in one that goes. */
  move(row: number): void {
    const cell = this.#cell(row);
    if (cell !== NO_CELL && this.#slab.isOld(cell)) this.#write(row, this.list(row));
  }

  /** Of a node that has none: mostly it stays the only one. */
  #setFirst(row: number, extra: NodeExtra): number {
    const length = HEAD_BYTES + extra.bytes.length;
    const cell = this.#allocate(length);
    putExtra(this.#slab.bytes(cell), this.#slab.offset(cell) + LENGTH_BYTES, extra);
    this.#rows.setWord(row, WordField.extras, cell);
    this.#count(row, extra.tag, 1);
    return length;
  }

  #write(row: number, extras: readonly NodeExtra[]): void {
    const old = this.#cell(row);
    if (old !== NO_CELL) this.#slab.free(old, this.#length(old));
    if (extras.length === 0) {
      this.#rows.setWord(row, WordField.extras, NO_CELL);
      return;
    }
    const cell = this.#allocate(extrasBytes(extras));
    const bytes = this.#slab.bytes(cell);
    let at = this.#slab.offset(cell) + LENGTH_BYTES;
    for (const extra of extras) at = putExtra(bytes, at, extra);
    this.#rows.setWord(row, WordField.extras, cell);
  }

  /** A cell for extras of so many bytes, with the length in front of them. */
  #allocate(extras: number): CellReference {
    const length = LENGTH_BYTES + extras;
    invariant(length <= MAX_NODE_EXTRAS_BYTES, 'the extras of a node are bounded');
    const cell = this.#slab.allocate(length);
    const bytes = this.#slab.bytes(cell);
    const at = this.#slab.offset(cell);
    writeShort(bytes, at, length);
    writeShort(bytes, at + 2, 0);
    return cell;
  }

  /** Of a cell. */
  #length(cell: CellReference): number {
    return readShort(this.#slab.bytes(cell), this.#slab.offset(cell));
  }

  #count(row: number, tag: number, more: number): void {
    if (more === 0) return;
    if (tag === ExtraTag.lifetime) {
      if (more > 0) this.#withLifetime.add(row);
      else this.#withLifetime.delete(row);
    }
    const count = (this.#counts.get(tag) ?? 0) + more;
    if (count === 0) this.#counts.delete(tag);
    else this.#counts.set(tag, count);
  }

  #cell(row: number): CellReference {
    return this.#rows.word(row, WordField.extras) as CellReference;
  }
}

/** Little-endian; of the length in front of all the lower half, which has it whole ({@link MAX_NODE_EXTRAS_BYTES}). */
function readShort(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

function writeShort(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value & 0xff;
  bytes[at + 1] = value >>> 8;
}

/** Returns its end. */
function putExtra(bytes: Uint8Array, at: number, extra: NodeExtra): number {
  const from = at + HEAD_BYTES;
  writeShort(bytes, at, extra.tag);
  writeShort(bytes, at + 2, extra.bytes.length);
  bytes.set(extra.bytes, from);
  return from + extra.bytes.length;
}

/** What a node's extras count among the data. */
export function extrasBytes(extras: readonly NodeExtra[]): number {
  return extras.reduce((sum, { bytes }) => sum + HEAD_BYTES + bytes.length, 0);
}
