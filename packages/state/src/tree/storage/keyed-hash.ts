/**
 * HalfSipHash-1-3 (Aumasson and Bernstein; 32-bit words, as in Linux's hash tables) over a parent's slot and a name: who does not know
 * the key cannot choose names that collide. A seed of a plain hash would not do, since names can be built that collide under any.
 */

import type { NamePart } from './stored-name.ts';

/** 64 bits. Slots and keys differ between servers, and with them the hashes: nothing may depend on one but where a node is looked for. */
export interface HashKey {
  /** Unsigned, 32 bits each. */
  readonly low: number;
  readonly high: number;
}

const FINAL_ROUNDS = 3;
/** The parent, and the units of the name. */
const HEADER_WORDS = 2;

/** Unsigned, 32 bits. */
export function hashOfChild(key: HashKey, parent: number, { text, from, to }: NamePart): number {
  let v0 = key.low | 0;
  let v1 = key.high | 0;
  let v2 = 0x6c796765 ^ v0;
  let v3 = 0x74656462 ^ v1;
  const units = to - from;
  const words = HEADER_WORDS + ((units + 1) >>> 1);
  for (let at = 0; at < words + FINAL_ROUNDS; at += 1) {
    let word = at === 0 ? parent : at === 1 ? units : 0;
    if (at >= HEADER_WORDS && at < words) {
      const unit = from + 2 * (at - HEADER_WORDS);
      word = text.charCodeAt(unit);
      if (unit + 1 < to) word |= text.charCodeAt(unit + 1) << 16;
    }
    if (at === words) v2 ^= 0xff;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  return (v1 ^ v3) >>> 0;
}
