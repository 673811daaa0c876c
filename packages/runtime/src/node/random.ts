/** The operating system's generator. */

import { randomBytes } from 'node:crypto';

import type { Random } from '../index.ts';

export function nodeRandom(): Random {
  const next = (): number => {
    const bytes = randomBytes(8);
    return ((bytes.readUInt32LE(0) >>> 5) * 2 ** 26 + (bytes.readUInt32LE(4) >>> 6)) / 2 ** 53;
  };
  return { next, integer: (bound) => Math.floor(next() * bound), bytes: (length) => randomBytes(length) };
}
