/**
 * Many short byte strings in a few large arrays, a cell for each: no object, no allocator's header and nothing for the garbage
 * collector to visit per string. A cell is a multiple of 16 bytes; a freed one is taken again by the next of its size. What is longer
 * than a cell may be has an array of its own. Who asked for a cell keeps its length.
 */

const UNIT_BYTES = 16;
/** 64 KiB. */
const CHUNK_UNITS = 4_096;
/** 1 KiB: of a chunk's end no more than that is lost. */
const MAX_CELL_UNITS = 64;
/** References from here on are to arrays of their own: below are 32 GiB of cells. */
const FIRST_OWN = 0x8000_0000;

declare const cellBrand: unique symbol;
/** A 32-bit number. */
export type CellReference = number & { readonly [cellBrand]: true };

export class ByteSlab {
  readonly #chunks: Uint8Array[] = [];
  /** The same memory; a free cell begins with the link to the next of its size. */
  readonly #links: Uint32Array[] = [];
  /** By units of a cell: the reference of the free one to take next, plus 1; 0 for none. */
  readonly #free = new Uint32Array(MAX_CELL_UNITS + 1);
  readonly #own: (Uint8Array | undefined)[] = [];
  readonly #freeOwn: number[] = [];
  #nextUnit = 0;
  #endUnit = 0;

  /** The cell has arbitrary bytes. */
  allocate(length: number): CellReference {
    const units = unitsOf(length);
    if (units > MAX_CELL_UNITS) return this.#allocateOwn(length);
    const free = this.#free[units] ?? 0;
    if (free !== 0) {
      const reference = free - 1;
      this.#free[units] = this.#links[Math.floor(reference / CHUNK_UNITS)]?.[linkAt(reference)] ?? 0;
      return reference as CellReference;
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
    const links = this.#links[Math.floor(reference / CHUNK_UNITS)];
    if (links !== undefined) links[linkAt(reference)] = this.#free[units] ?? 0;
    this.#free[units] = reference + 1;
  }

  /** The array that has the cell, from {@link offset} on. Not to be kept: freed cells are written again. */
  bytes(reference: CellReference): Uint8Array {
    const bytes =
      reference >= FIRST_OWN ? this.#own[reference - FIRST_OWN] : this.#chunks[Math.floor(reference / CHUNK_UNITS)];
    return bytes ?? NONE;
  }

  offset(reference: CellReference): number {
    return reference >= FIRST_OWN ? 0 : (reference % CHUNK_UNITS) * UNIT_BYTES;
  }

  #addChunk(): void {
    const chunk = new Uint8Array(CHUNK_UNITS * UNIT_BYTES);
    this.#nextUnit = this.#chunks.length * CHUNK_UNITS;
    this.#endUnit = this.#nextUnit + CHUNK_UNITS;
    this.#chunks.push(chunk);
    this.#links.push(new Uint32Array(chunk.buffer));
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

/** The cell's first word, in words from the begin of its chunk. */
function linkAt(reference: number): number {
  return (reference % CHUNK_UNITS) * (UNIT_BYTES / Uint32Array.BYTES_PER_ELEMENT);
}
