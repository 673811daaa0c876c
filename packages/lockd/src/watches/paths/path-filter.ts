/**
 * Whether a change can concern any of some paths, from the bytes of its path and without a string: whoever comes back is looked up in all
 * that has happened, of which hardly anything is for it. A Bloom filter with one hash: a wrong yes costs time, and there is no wrong no.
 */

const SLASH = 0x2f;
/** FNV-1a, which gives the hash of every path above a path on the way to its end. */
const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
/** Rounded up to a power of two: with them a path is taken for one of them in one case of 64. */
const BITS_A_PATH = 64;
const LEAST_BITS = 1_024;

export class PathFilter {
  readonly #bits: Uint8Array;
  readonly #mask: number;

  constructor(paths: Iterable<string>) {
    const hashes = Array.from(paths, (path) => hashOf(path));
    let bits = LEAST_BITS;
    while (bits < BITS_A_PATH * hashes.length) bits *= 2;
    this.#bits = new Uint8Array(bits / 8);
    this.#mask = bits - 1;
    for (const hash of hashes) {
      const bit = placeOf(hash) & this.#mask;
      this.#bits[bit >> 3] = (this.#bits[bit >> 3] as number) | (1 << (bit & 7));
    }
  }

  /** True where the path, or one above it, may be among the filter's; the path of "/" has no bytes. */
  mayConcern(bytes: Uint8Array, start: number, end: number): boolean {
    let hash = BASIS;
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at] as number;
      if (byte === SLASH && this.#has(hash)) return true;
      hash = Math.imul(hash ^ byte, PRIME);
    }
    return this.#has(hash);
  }

  #has(hash: number): boolean {
    const bit = placeOf(hash) & this.#mask;
    return ((this.#bits[bit >> 3] as number) & (1 << (bit & 7))) !== 0;
  }
}

/** The low bits of an FNV hash depend on few of the bits before them. */
function placeOf(hash: number): number {
  return hash ^ (hash >>> 16);
}

function hashOf(path: string): number {
  let hash = BASIS;
  if (path === '/') return hash;
  for (const byte of Buffer.from(path)) hash = Math.imul(hash ^ byte, PRIME);
  return hash;
}
