/**
 * Many short byte strings in a few large arrays, a cell for each: no object, no allocator's header and nothing for the garbage
 * collector to visit per string. A cell is a multiple of 16 bytes; a freed one is taken again by the next of its size. What is longer
 * than a cell may be has an array of its own. Who asked for a cell keeps its length.
 *
 * Cells of one size are of no use to another, so whoever lets strings grow together could leave as much idle in each size. Instead, where
 * more than half as much is idle as is in use, all cells move to new chunks (copying compaction): the slab says which are old, its owner,
 * who knows where the references are, moves a few at a time, and then the old chunks go.
 */

import { invariant } from '../../invariant.ts';

const UNIT_BYTES = 16;
/** 64 KiB. */
const CHUNK_UNITS = 4_096;
/** 1 KiB: of a chunk's end no more than that is lost. */
const MAX_CELL_UNITS = 64;
/** References from here on are to arrays of their own: below are 32 GiB of cells. */
const FIRST_OWN = 0x8000_0000;
/** May be idle beside half of what is in use. */
const SPARE_BYTES = 16 * 1024 * 1024;

declare const cellBrand: unique symbol;
/** A 32-bit number. */
export type CellReference = number & { readonly [cellBrand]: true };
/** What no cell has. */
export const NO_CELL = 0 as CellReference;

export class ByteSlab {
  readonly #spareUnits: number;
  /** Without those that went. */
  readonly #chunks: (Uint8Array | undefined)[] = [];
  /** The same memory; a free cell begins with the reference of the next of its size. */
  readonly #links: (Uint32Array | undefined)[] = [];
  /** Places of chunks that went. */
  readonly #gone: number[] = [];
  /** While cells move: the places of the chunks that they leave. */
  readonly #old = new Set<number>();
  /** By units of a cell: the free one to take next. */
  readonly #free = new Uint32Array(MAX_CELL_UNITS + 1);
  readonly #own: (Uint8Array | undefined)[] = [];
  readonly #freeOwn: number[] = [];
  #usedUnits = 0;
  #nextUnit = 0;
  #endUnit = 0;

  /** @param spareBytes may be idle beside half of what is in use */
  constructor(spareBytes: number = SPARE_BYTES) {
    this.#spareUnits = spareBytes / UNIT_BYTES;
  }

  /** There are old chunks: their cells are to move, and then {@link dropOld} is to be called. */
  get moving(): boolean {
    return this.#old.size > 0;
  }

  /** What the chunks take. */
  get chunkBytes(): number {
    return this.#chunkUnits * UNIT_BYTES;
  }

  /** The cell has arbitrary bytes. */
  allocate(length: number): CellReference {
    const units = unitsOf(length);
    if (units > MAX_CELL_UNITS) return this.#allocateOwn(length);
    this.#usedUnits += units;
    const free = this.#free[units] ?? NO_CELL;
    if (free !== NO_CELL) {
      this.#free[units] = this.#links[chunkOf(free)]?.[linkAt(free)] ?? NO_CELL;
      return free as CellReference;
    }
    if (this.#nextUnit + units > this.#endUnit) this.#addChunk();
    const reference = this.#nextUnit;
    this.#nextUnit += units;
    return reference as CellReference;
  }

  free(reference: CellReference, length: number): void {
    if (reference >= FIRST_OWN) {
      this.#own[reference - FIRST_OWN] = undefined;
      this.#freeOwn.push(reference - FIRST_OWN);
      return;
    }
    const units = unitsOf(length);
    this.#usedUnits -= units;
    if (this.isOld(reference)) return;
    const links = this.#links[chunkOf(reference)];
    if (links !== undefined) links[linkAt(reference)] = this.#free[units] ?? NO_CELL;
    this.#free[units] = reference;
  }

  /** The cell is in a chunk that goes. */
  isOld(reference: CellReference): boolean {
    return this.moving && reference < FIRST_OWN && reference !== NO_CELL && this.#old.has(chunkOf(reference));
  }

  /** Nobody refers to an old cell any more. */
  dropOld(): void {
    for (const place of this.#old) {
      this.#chunks[place] = undefined;
      this.#links[place] = undefined;
      this.#gone.push(place);
    }
    this.#old.clear();
    invariant(this.#usedUnits <= this.#chunkUnits, 'all cells that are in use are in chunks');
  }

  /** The array that has the cell, from {@link offset} on. Not to be kept: freed cells are written again. */
  bytes(reference: CellReference): Uint8Array {
    const bytes = reference >= FIRST_OWN ? this.#own[reference - FIRST_OWN] : this.#chunks[chunkOf(reference)];
    return bytes ?? NONE;
  }

  offset(reference: CellReference): number {
    return reference >= FIRST_OWN ? 0 : (reference % CHUNK_UNITS) * UNIT_BYTES;
  }

  get #chunkUnits(): number {
    return (this.#chunks.length - this.#gone.length) * CHUNK_UNITS;
  }

  #addChunk(): void {
    const idleUnits = this.#chunkUnits - this.#usedUnits;
    if (!this.moving && idleUnits > this.#usedUnits / 2 + this.#spareUnits) this.#beginMove();
    const chunk = new Uint8Array(CHUNK_UNITS * UNIT_BYTES);
    const place = this.#gone.pop() ?? this.#chunks.length;
    this.#chunks[place] = chunk;
    this.#links[place] = new Uint32Array(chunk.buffer);
    this.#nextUnit = place * CHUNK_UNITS;
    this.#endUnit = this.#nextUnit + CHUNK_UNITS;
    // Reference 0 is no cell.
    if (place === 0) this.#nextUnit += 1;
  }

  #beginMove(): void {
    for (const [place, chunk] of this.#chunks.entries()) if (chunk !== undefined) this.#old.add(place);
    this.#free.fill(NO_CELL);
  }

  #allocateOwn(length: number): CellReference {
    const place = this.#freeOwn.pop() ?? this.#own.length;
    this.#own[place] = new Uint8Array(length);
    return (FIRST_OWN + place) as CellReference;
  }
}

const NONE = new Uint8Array(0);

/** At least one, so that every cell has room for its link. */
function unitsOf(length: number): number {
  return Math.max(1, Math.ceil(length / UNIT_BYTES));
}

function chunkOf(reference: number): number {
  return Math.floor(reference / CHUNK_UNITS);
}

/** The cell's first word, in words from the begin of its chunk. */
function linkAt(reference: number): number {
  return (reference % CHUNK_UNITS) * (UNIT_BYTES / Uint32Array.BYTES_PER_ELEMENT);
}
