/** A running hash over everything that happened in a world: two runs with the same hash took the same path. */

import { hash32 } from './prng.ts';

export class Trace {
  #low = 0x811c9dc5 | 0;
  #high = 0x9e3779b9 | 0;
  readonly #kinds = new Map<string, number>();

  record(timeTicks: number, sequence: number, kind: string): void {
    let kindHash = this.#kinds.get(kind);
    if (kindHash === undefined) {
      kindHash = hash32(kind, 0);
      this.#kinds.set(kind, kindHash);
    }
    this.#mix(timeTicks | 0);
    this.#mix(Math.floor(timeTicks / 2 ** 32));
    this.#mix(sequence | 0);
    this.#mix(kindHash);
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

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, '0');
