/**
 * Lowe's memory of the search: every configuration that was reached, each once. A configuration is what was linearized and the state after
 * it: the number of returns explained, which of those under way are linearized, which of unknown outcome, and the state. Equality is that
 * of the whole configuration, not of its hash. Each remembers from which it was reached by which operation.
 */

const CHUNK = 1 << 16;
/** Fields before the words of the set: returns, open, state, parent, via. */
const FIELDS = 5;
const EMPTY = -1;
const BYTES = 4;

export class Configurations {
  readonly #words: number;
  readonly #stride: number;
  readonly #chunks: Int32Array[] = [];
  #table = new Int32Array(1 << 12).fill(EMPTY);
  #size = 0;

  /** @param words of the set of slots */
  constructor(words: number) {
    this.#words = words;
    this.#stride = FIELDS + words;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return (this.#chunks.length * CHUNK * this.#stride + this.#table.length) * BYTES;
  }

  /** Its number; -1 when it is there already. */
  add(returns: number, open: number, state: number, set: Int32Array, parent: number, via: number): number {
    let place = this.#hash(returns, open, state, set);
    for (let at = this.#table[place] ?? EMPTY; at !== EMPTY; at = this.#table[place] ?? EMPTY) {
      if (this.#equals(at, returns, open, state, set)) return -1;
      place = (place + 1) & (this.#table.length - 1);
    }
    const number = this.#size;
    if (number % CHUNK === 0) this.#chunks.push(new Int32Array(CHUNK * this.#stride));
    const chunk = this.#chunkOf(number);
    const start = (number % CHUNK) * this.#stride;
    chunk[start] = returns;
    chunk[start + 1] = open;
    chunk[start + 2] = state;
    chunk[start + 3] = parent;
    chunk[start + 4] = via;
    for (let word = 0; word < this.#words; word += 1) chunk[start + FIELDS + word] = set[word] ?? 0;
    this.#table[place] = number;
    this.#size += 1;
    if (this.#size * 2 > this.#table.length) this.#grow();
    return number;
  }

  returns(number: number): number {
    return this.#field(number, 0);
  }

  open(number: number): number {
    return this.#field(number, 1);
  }

  state(number: number): number {
    return this.#field(number, 2);
  }

  /** From which it was reached; -1: it is the first. */
  parent(number: number): number {
    return this.#field(number, 3);
  }

  via(number: number): number {
    return this.#field(number, 4);
  }

  copySet(number: number, to: Int32Array): void {
    const chunk = this.#chunkOf(number);
    const start = (number % CHUNK) * this.#stride + FIELDS;
    for (let word = 0; word < this.#words; word += 1) to[word] = chunk[start + word] ?? 0;
  }

  #field(number: number, field: number): number {
    return this.#chunkOf(number)[(number % CHUNK) * this.#stride + field] ?? 0;
  }

  #chunkOf(number: number): Int32Array {
    return this.#chunks[Math.floor(number / CHUNK)] as Int32Array;
  }

  #equals(number: number, returns: number, open: number, state: number, set: Int32Array): boolean {
    const chunk = this.#chunkOf(number);
    const start = (number % CHUNK) * this.#stride;
    if (chunk[start] !== returns || chunk[start + 1] !== open || chunk[start + 2] !== state) return false;
    for (let word = 0; word < this.#words; word += 1) {
      if (chunk[start + FIELDS + word] !== set[word]) return false;
    }
    return true;
  }

  #hash(returns: number, open: number, state: number, set: Int32Array): number {
    let hash = mixed(mixed(mixed(0x9e3779b9, returns), open), state);
    for (let word = 0; word < this.#words; word += 1) hash = mixed(hash, set[word] ?? 0);
    return (hash ^ (hash >>> 15)) & (this.#table.length - 1);
  }

  #grow(): void {
    this.#table = new Int32Array(this.#table.length * 2).fill(EMPTY);
    const set = new Int32Array(this.#words);
    for (let number = 0; number < this.#size; number += 1) {
      this.copySet(number, set);
      let place = this.#hash(this.returns(number), this.open(number), this.state(number), set);
      while (this.#table[place] !== EMPTY) place = (place + 1) & (this.#table.length - 1);
      this.#table[place] = number;
    }
  }
}

function mixed(hash: number, value: number): number {
  const product = Math.imul(hash ^ value, 0x85ebca6b);
  return Math.imul(product ^ (product >>> 13), 0xc2b2ae35) ^ (product >>> 16);
}
