/**
 * All worlds that were found, in the order in which they were: the numbers that make each of them, which one it was found from, and as
 * which of its successors. No two are equal. The search's queue is this table itself, so that a world costs some sixty bytes.
 */

const FIRST_CAPACITY = 1 << 16;
const MAX_LOAD = 0.6;

export class StateTable {
  #numbers = new Int32Array(FIRST_CAPACITY * 8);
  #used = 0;
  /** Where each begins; the next one's beginning is its end. */
  #begins = new Int32Array(FIRST_CAPACITY + 1);
  #parents = new Int32Array(FIRST_CAPACITY);
  #ordinals = new Int32Array(FIRST_CAPACITY);
  #hashes = new Int32Array(FIRST_CAPACITY);
  /** Open addressing; 0 is free, otherwise the place in the table and one. */
  #slots = new Int32Array(FIRST_CAPACITY * 2);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** False when it is known. */
  add(world: ArrayLike<number>, parent: number, ordinal: number): boolean {
    const hash = hashOf(world);
    let slot = this.#slotOf(hash);
    for (let taken = this.#slots[slot] ?? 0; taken !== 0; taken = this.#slots[slot] ?? 0) {
      if (this.#hashes[taken - 1] === hash && this.#equals(taken - 1, world)) return false;
      slot = (slot + 1) & (this.#slots.length - 1);
    }
    this.#slots[slot] = this.#size + 1;
    this.#append(world, hash, parent, ordinal);
    return true;
  }

  world(at: number): Int32Array {
    return this.#numbers.subarray(this.#begins[at], this.#begins[at + 1]);
  }

  /** −1 for the first. */
  parent(at: number): number {
    return this.#parents[at] ?? -1;
  }

  ordinal(at: number): number {
    return this.#ordinals[at] ?? -1;
  }

  #append(world: ArrayLike<number>, hash: number, parent: number, ordinal: number): void {
    const at = this.#size;
    if (at === this.#parents.length) this.#growRows();
    if (this.#used + world.length > this.#numbers.length)
      this.#numbers = grown(this.#numbers, this.#numbers.length * 2);
    for (let place = 0; place < world.length; place += 1) this.#numbers[this.#used + place] = world[place] ?? 0;
    this.#used += world.length;
    this.#begins[at + 1] = this.#used;
    this.#parents[at] = parent;
    this.#ordinals[at] = ordinal;
    this.#hashes[at] = hash;
    this.#size += 1;
    if (this.#size > this.#slots.length * MAX_LOAD) this.#growSlots();
  }

  #equals(at: number, world: ArrayLike<number>): boolean {
    const begin = this.#begins[at] ?? 0;
    if ((this.#begins[at + 1] ?? 0) - begin !== world.length) return false;
    for (let place = 0; place < world.length; place += 1) {
      if (this.#numbers[begin + place] !== world[place]) return false;
    }
    return true;
  }

  #slotOf(hash: number): number {
    return hash & (this.#slots.length - 1);
  }

  #growRows(): void {
    const rows = this.#parents.length * 2;
    this.#begins = grown(this.#begins, rows + 1);
    this.#parents = grown(this.#parents, rows);
    this.#ordinals = grown(this.#ordinals, rows);
    this.#hashes = grown(this.#hashes, rows);
  }

  #growSlots(): void {
    this.#slots = new Int32Array(this.#slots.length * 2);
    for (let at = 0; at < this.#size; at += 1) {
      let slot = this.#slotOf(this.#hashes[at] ?? 0);
      while (this.#slots[slot] !== 0) slot = (slot + 1) & (this.#slots.length - 1);
      this.#slots[slot] = at + 1;
    }
  }
}

function grown(numbers: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(length);
  larger.set(numbers);
  return larger;
}

function hashOf(world: ArrayLike<number>): number {
  let hash = 0x811c9dc5;
  for (let place = 0; place < world.length; place += 1) {
    hash = Math.imul(hash ^ (world[place] ?? 0), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ (hash >>> 13), 0x85ebca6b);
  return hash ^ (hash >>> 16);
}
