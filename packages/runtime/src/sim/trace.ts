/**
 * A running hash over everything that happened in a world, when, in which order, and with which bytes: two runs with the same
 * hash took the same path.
 */

import { crc32 } from 'node:zlib';
import { hash32 } from './prng.ts';

/** What happens in an event, and to whom. */
export interface EventKind {
  readonly text: string;
  readonly hash: number;
}

/** The kinds of events of one owner (a process, a link), each made once: texts are not built for every event. */
export class EventKinds {
  readonly #owner: string;
  readonly #kinds = new Map<string, EventKind>();

  constructor(owner: string) {
    this.#owner = owner;
  }

  of(what: string): EventKind {
    let kind = this.#kinds.get(what);
    if (kind === undefined) {
      const text = `${what} ${this.#owner}`;
      kind = { text, hash: hash32(text, 0) };
      this.#kinds.set(what, kind);
    }
    return kind;
  }
}

export class Trace {
  #low = 0x811c9dc5 | 0;
  #high = 0x9e3779b9 | 0;

  record(timeTicks: number, sequence: number, kind: EventKind): void {
    this.#mix(timeTicks | 0);
    this.#mix(Math.floor(timeTicks / 2 ** 32));
    this.#mix(sequence | 0);
    this.#mix(kind.hash);
  }

  /** What a program has sent or written. */
  recordBytes(bytes: Uint8Array): void {
    this.#mix(bytes.length);
    this.#mix(bytes.length > MAX_BYTES_HERE ? crc32(bytes) : hashOf(bytes));
  }

  /** Sixteen hexadecimal digits. */
  get hash(): string {
    return hex(this.#high) + hex(this.#low);
  }

  #mix(word: number): void {
    this.#low = Math.imul(this.#low ^ word, 0x01000193);
    this.#low ^= this.#low >>> 15;
    this.#high = Math.imul(((this.#high << 13) | (this.#high >>> 19)) ^ word, 0x85ebca6b);
    this.#high ^= this.#high >>> 13;
  }
}

/** Up to so many bytes a call of zlib costs more than it saves. */
const MAX_BYTES_HERE = 256;

function hashOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5 | 0;
  // oxlint-disable-next-line prefer-for-of -- several times as fast, once for every frame and write
  for (let n = 0; n < bytes.length; n += 1) hash = Math.imul(hash ^ (bytes[n] ?? 0), 0x01000193);
  return hash;
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, '0');
