/**
 * Memory for the data of restored nodes, many of them in one buffer: a buffer each would cost more than the data. A buffer goes when
 * the last node in it has other data, so slabs are small.
 */

const SLAB_BYTES = 16 * 1024;
/** Larger ones have a buffer of their own. */
const MAX_SHARED_BYTES = 1024;
const NO_DATA = new Uint8Array(0);

export class DataSlabs {
  #slab = NO_DATA;
  #used = 0;

  /** A copy of `bytes` from `start` to `end`. */
  copy(bytes: Uint8Array, start: number, end: number): Uint8Array {
    const length = end - start;
    if (length === 0) return NO_DATA;
    if (length > MAX_SHARED_BYTES) return bytes.slice(start, end);
    if (this.#used + length > this.#slab.length) {
      this.#slab = new Uint8Array(SLAB_BYTES);
      this.#used = 0;
    }
    const copy = this.#slab.subarray(this.#used, this.#used + length);
    this.#used += length;
    for (let position = 0; position < length; position += 1) copy[position] = bytes[start + position] ?? 0;
    return copy;
  }
}
