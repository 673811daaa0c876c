/**
 * Seeded randomness: one independent stream for each concern, so that a draw added in one place does not change what
 * every other place sees. sfc32 (Chris Doty-Humphrey's small fast counting generator); integer arithmetic only, so
 * that a seed means the same on every machine.
 */

import type { Random } from '../random.ts';
import { uniformInteger } from '../uniform-integer.ts';

/** Creates the stream called `name` of `seed`. The same two arguments give the same stream. */
export function randomStream(seed: number | string, name: string): Random {
  const draw32 = sfc32(`${seed}\u0000${name}`);
  const draw53 = () => (draw32() >>> 5) * 2 ** 26 + (draw32() >>> 6);
  return {
    next: () => draw53() / 2 ** 53,
    integer: (bound) => uniformInteger(bound, draw53),
    bytes: (length) => Uint8Array.from({ length }, () => draw32() & 0xff),
  };
}

function sfc32(text: string): () => number {
  let a = hash32(text, 0x9e3779b9);
  let b = hash32(text, 0x243f6a88);
  let c = hash32(text, 0xb7e15162);
  let counter = 1;
  const draw = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  // The generator's author asks for twelve rounds to mix the seed; four more cost nothing.
  for (let round = 0; round < 16; round += 1) draw();
  return draw;
}

/** FNV-1a with a seed and a final avalanche (that of MurmurHash3). */
export function hash32(text: string, seed: number): number {
  let hash = (seed ^ 0x811c9dc5) | 0;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
