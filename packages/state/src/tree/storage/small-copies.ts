/**
 * Copies of a few bytes, handed out as views of slabs: an array of its own for each would be outside of V8's heap, which costs more than to
 * copy them. Whoever keeps a copy for long keeps its slab.
 */

const SLAB_BYTES = 8 * 1024;
/** Longer ones get an array of their own. */
const MAX_SMALL_BYTES = 1024;

let slab = new Uint8Array(0);
let end = 0;

/** As `slice` of the array has it. */
export function copyBytes(bytes: Uint8Array, from: number, to: number): Uint8Array {
  const length = to - from;
  if (length > MAX_SMALL_BYTES) return bytes.slice(from, to);
  if (end + length > slab.length) {
    slab = new Uint8Array(SLAB_BYTES);
    end = 0;
  }
  const copy = slab.subarray(end, end + length);
  copy.set(bytes.subarray(from, to));
  end += length;
  return copy;
}
