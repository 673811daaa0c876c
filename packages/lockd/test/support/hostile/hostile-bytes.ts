/** Bytes that nobody should send, from a seeded stream: noise, msgpack that no encoder writes, and messages with something wrong. */

import { MalformedError } from '@holdfast/protocol';
import type { Random } from '@holdfast/runtime';

const MAX_NOISE_BYTES = 200;

/** msgpack tokens that a reader must be wary of: maps, extensions, what is never used, and lengths that are lies. */
const TRAPS: readonly (readonly number[])[] = [
  [0x80],
  [0x81, 0xa9, ...ascii('__proto__'), 0x81, 0xa1, 0x78, 1],
  [0x82, 0xa1, 0x61, 1, 0xa1, 0x61, 2],
  [0x81, 0xab, ...ascii('constructor'), 0xc0],
  [0xdf, 0xff, 0xff, 0xff, 0xff],
  [0xdd, 0xff, 0xff, 0xff, 0xff],
  [0xdc, 0xff, 0xff],
  [0xdb, 0xff, 0xff, 0xff, 0xff],
  [0xc6, 0xff, 0xff, 0xff, 0xff],
  [0xc9, 0xff, 0xff, 0xff, 0xff, 1],
  [0xc1],
  [0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61, 1],
  [0xd6, 0xff, 0, 0, 0, 1],
  [0xc7, 12, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  [0xd9, 2, 0xc3, 0x28],
  [0xd9, 3, 0xed, 0xa0, 0x80],
  [0xa4, 0xf8, 0x88, 0x80, 0x80],
  [0xc0],
];

/** Numbers at the edges of what fields take. */
const EDGES = [
  0,
  1,
  -1,
  0.5,
  2 ** 31,
  2 ** 32,
  Number.MAX_SAFE_INTEGER,
  2 ** 53,
  -(2 ** 53),
  1e308,
  Number.POSITIVE_INFINITY,
  Number.NaN,
];

export class HostileBytes {
  readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.random.integer(list.length)] as T;
  }

  chance(share: number): boolean {
    return this.random.next() < share;
  }

  noise(maxBytes = MAX_NOISE_BYTES): Uint8Array {
    return this.random.bytes(1 + this.random.integer(maxBytes));
  }

  /** A number that some field may take, and another not. */
  number(): number {
    return this.chance(0.5) ? this.pick(EDGES) : this.random.integer(2 ** (1 + this.random.integer(53)));
  }

  /** Such a number that the protocol's integers can be. */
  index(): number {
    const number = this.number();
    return Number.isSafeInteger(number) && number >= 0 ? number : this.random.integer(1_000);
  }

  /** One value in msgpack, or the beginning of one. */
  value(): Uint8Array {
    switch (this.random.integer(5)) {
      case 0:
        return float64(this.number());
      case 1:
        return Uint8Array.of(0xa0 + 3, ...ascii('abc'));
      case 2:
        return this.nested(1 + this.random.integer(2_000));
      default:
        return Uint8Array.from(this.pick(TRAPS));
    }
  }

  /** Arrays in arrays. */
  nested(depth: number): Uint8Array {
    return new Uint8Array(depth + 1).fill(0x91, 0, depth);
  }

  /** A frame of one message of `type` whose fields are anything. */
  tuple(type: number): Uint8Array {
    const fields = Array.from({ length: this.random.integer(7) }, () => this.value());
    return Buffer.concat([Uint8Array.of(0x91, 0x91 + fields.length, type), ...fields]);
  }

  /** The message cut short, with bits flipped, or with something behind it. */
  spoilt(message: Uint8Array): Uint8Array {
    switch (this.random.integer(3)) {
      case 0:
        return message.slice(0, this.random.integer(message.length));
      case 1:
        return Buffer.concat([message, this.noise(20)]);
      default: {
        const flipped = Uint8Array.from(message);
        const flips = 1 + this.random.integer(6);
        for (let n = 0; n < flips; n += 1) {
          const at = this.random.integer(flipped.length);
          flipped[at] = (flipped[at] ?? 0) ^ (1 << this.random.integer(8));
        }
        return flipped;
      }
    }
  }
}

function float64(value: number): Uint8Array {
  const bytes = new Uint8Array(9);
  bytes[0] = 0xcb;
  new DataView(bytes.buffer).setFloat64(1, value);
  return bytes;
}

function ascii(text: string): number[] {
  return [...Buffer.from(text, 'latin1')];
}

/** Whether a decoder refuses the bytes; anything but a MalformedError is thrown on. */
export function isMalformed(decode: () => unknown): boolean {
  try {
    decode();
    return false;
  } catch (error) {
    if (error instanceof MalformedError) return true;
    throw error;
  }
}
