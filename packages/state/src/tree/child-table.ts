/**
 * Finds nodes by a hash of their parent and name: rows and their hashes in two arrays (linear probing), so that a search looks at a
 * node itself only when the whole hash is the same. Twice as large when two thirds are taken.
 */

import type { NamePart } from './stored-name.ts';

/** Of a place: nothing is there. Row 0, the root, is nobody's child. */
export const NO_ROW = 0;
/** Of a search: it is over. */
export const NO_PLACE = -1;
const FIRST_PLACES = 64;

export class ChildTable {
  #rows: Uint32Array;
  #hashes: Uint32Array;
  #size = 0;

  /** With room for so many. */
  constructor(expected = 0) {
    let places = FIRST_PLACES;
    while (3 * expected > 2 * places) places *= 2;
    this.#rows = new Uint32Array(places);
    this.#hashes = new Uint32Array(places);
  }

  /** The first place with that hash. */
  first(hash: number): number {
    return this.#search(hash, hash & (this.#rows.length - 1));
  }

  /** The next one behind `place`. */
  next(hash: number, place: number): number {
    return this.#search(hash, (place + 1) & (this.#rows.length - 1));
  }

  rowAt(place: number): number {
    return this.#rows[place] ?? NO_ROW;
  }

  add(row: number, hash: number): void {
    if (3 * (this.#size + 1) > 2 * this.#rows.length) this.#grow();
    this.#put(row, hash);
    this.#size += 1;
  }

  /** False when it was not there. */
  remove(row: number, hash: number): boolean {
    let place = this.first(hash);
    while (place !== NO_PLACE && this.#rows[place] !== row) place = this.next(hash, place);
    if (place === NO_PLACE) return false;
    this.#close(place);
    this.#size -= 1;
    return true;
  }

  #search(hash: number, from: number): number {
    const last = this.#rows.length - 1;
    for (let place = from; this.#rows[place] !== NO_ROW; place = (place + 1) & last) {
      if (this.#hashes[place] === hash) return place;
    }
    return NO_PLACE;
  }

  #put(row: number, hash: number): void {
    const last = this.#rows.length - 1;
    let place = hash & last;
    while (this.#rows[place] !== NO_ROW) place = (place + 1) & last;
    this.#rows[place] = row;
    this.#hashes[place] = hash;
  }

  /** Moves up what a search would otherwise not reach over the gap (Knuth, TAOCP 6.4, algorithm R). */
  #close(gap: number): void {
    const last = this.#rows.length - 1;
    let free = gap;
    for (let place = (gap + 1) & last; this.#rows[place] !== NO_ROW; place = (place + 1) & last) {
      const hash = this.#hashes[place] ?? 0;
      if (((place - hash) & last) < ((place - free) & last)) continue;
      this.#rows[free] = this.#rows[place] ?? NO_ROW;
      this.#hashes[free] = hash;
      free = place;
    }
    this.#rows[free] = NO_ROW;
  }

  #grow(): void {
    const rows = this.#rows;
    const hashes = this.#hashes;
    this.#rows = new Uint32Array(2 * rows.length);
    this.#hashes = new Uint32Array(2 * rows.length);
    for (let place = 0; place < rows.length; place += 1) {
      const row = rows[place] ?? NO_ROW;
      if (row !== NO_ROW) this.#put(row, hashes[place] ?? 0);
    }
  }
}

/**
 * Unsigned, 32 bits. Slots differ between servers, and with them the hashes: nothing may depend on one but where a node is looked for.
 */
export function hashOfChild(parent: number, { text, from, to }: NamePart): number {
  let hash = Math.imul(parent ^ 0x9e3779b9, 0x85ebca6b);
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
