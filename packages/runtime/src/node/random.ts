/** The system's random generator: fit for secrets. */

import { randomBytes, randomFillSync } from 'node:crypto';

import type { Random } from '../random.ts';
import { uniformInteger } from '../uniform-integer.ts';

export function nodeRandom(): Random {
  return {
    next: () => draw53() / 2 ** 53,
    integer: (bound) => uniformInteger(bound, draw53),
    bytes: (length) => randomFillSync(new Uint8Array(length)),
  };
}

function draw53(): number {
  const drawn = randomBytes(8);
  return (drawn.readUInt32LE(0) >>> 5) * 2 ** 26 + (drawn.readUInt32LE(4) >>> 6);
}
