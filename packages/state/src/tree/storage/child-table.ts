/**
 * Finds nodes by a hash of their parent and name: rows with their hashes (linear probing), so that a search looks at a
 * node itself only when the whole hash is the same. Twice as large when two thirds are taken.
 */

/** Of a place: nothing is there. Row 0, the root, is nobody's child. */
export const NO_ROW = 0;
/** Of a search: it is over. */
export const NO_PLACE = -1;
const FIRST_PLACES = 64;

export class ChildTable {
  /** Of each place the row and, next to it, the hash: a search in a large table waits for memory once. */
  #places: Uint32Array;
  /** Places, less 1. */
  #last: number;
  #size = 0;

  /** With room for so many. */
  constructor(expected = 0) {
    let places = FIRST_PLACES;
    while (3 * expected > 2 * places) places *= 2;
    this.#places = new Uint32Array(2 * places);
    this.#last = places - 1;
  }

  /** The first place with that hash. */
  first(hash: number): number {
    return this.#search(hash, hash & this.#last);
  }

  /** The next one behind `place`. */
  next(hash: number, place: number): number {
    return this.#search(hash, (place + 1) & this.#last);
  }

  rowAt(place: number): number {
    return this.#places[2 * place] ?? NO_ROW;
  }

  add(row: number, hash: number): void {
    if (3 * (this.#size + 1) > 2 * (this.#last + 1)) this.#grow();
    this.#put(row, hash);
    this.#size += 1;
  }

  /** False when it was not there. */
  remove(row: number, hash: number): boolean {
    let place = this.first(hash);
    while (place !== NO_PLACE && this.rowAt(place) !== row) place = this.next(hash, place);
    if (place === NO_PLACE) return false;
    this.#close(place);
    this.#size -= 1;
    return true;
  }

  #search(hash: number, from: number): number {
    const places = this.#places;
    for (let place = from; places[2 * place] !== NO_ROW; place = (place + 1) & this.#last) {
      if (places[2 * place + 1] === hash) return place;
    }
    return NO_PLACE;
  }

  #put(row: number, hash: number): void {
    const places = this.#places;
    let place = hash & this.#last;
    while (places[2 * place] !== NO_ROW) place = (place + 1) & this.#last;
    places[2 * place] = row;
    places[2 * place + 1] = hash;
  }

  /** Moves up what a search would otherwise not reach over the gap (Knuth, TAOCP 6.4, algorithm R). */
  #close(gap: number): void {
    const places = this.#places;
    const last = this.#last;
    let free = gap;
    for (let place = (gap + 1) & last; places[2 * place] !== NO_ROW; place = (place + 1) & last) {
      const hash = places[2 * place + 1] ?? 0;
      if (((place - hash) & last) < ((place - free) & last)) continue;
      places[2 * free] = this.rowAt(place);
      places[2 * free + 1] = hash;
      free = place;
    }
    places[2 * free] = NO_ROW;
  }

  #grow(): void {
    const before = this.#places;
    this.#places = new Uint32Array(2 * before.length);
    this.#last = before.length - 1;
    for (let at = 0; at < before.length; at += 2) {
      const row = before[at] ?? NO_ROW;
      if (row !== NO_ROW) this.#put(row, before[at + 1] ?? 0);
    }
  }
}
