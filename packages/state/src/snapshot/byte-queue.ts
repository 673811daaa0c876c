/** Bytes that are written at one end and taken at the other, in pieces of any sizes. Grows to what it has to hold at once. */

const INITIAL_BYTES = 64 * 1024;

export class ByteQueue {
  #bytes = new Uint8Array(INITIAL_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  /** Where the next byte to be taken lies in {@link bytes}. */
  get start(): number {
    return this.#start;
  }

  /** Good until the next call that adds. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  /** Of the same bytes. */
  get view(): DataView {
    return this.#view;
  }

  /** Makes room for `size` bytes; returns the position at which to write them. They count once {@link commit} is called. */
  reserve(size: number): number {
    if (this.#end + size > this.#bytes.length) this.#makeRoom(size);
    return this.#end;
  }

  /** What was written up to `end` is in the queue. */
  commit(end: number): void {
    this.#end = end;
  }

  append(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length);
    this.#bytes.set(bytes, at);
    this.commit(at + bytes.length);
  }

  /** A copy of the next bytes, at most so many; in `room` if they fit. */
  take(maxBytes: number, room?: Uint8Array): Uint8Array {
    const next = this.#bytes.subarray(this.#start, Math.min(this.#end, this.#start + maxBytes));
    const fits = room !== undefined && room.length >= next.length;
    const taken = fits ? room.subarray(0, next.length) : new Uint8Array(next.length);
    taken.set(next);
    this.skip(taken.length);
    return taken;
  }

  skip(size: number): void {
    this.#start += size;
    if (this.#start === this.#end) this.#start = this.#end = 0;
  }

  #makeRoom(size: number): void {
    const { length } = this;
    const before = this.#bytes;
    // In place only when that is cheap for what it yields: half of the room is free.
    let capacity = before.length;
    if (2 * (length + size) > capacity) {
      while (capacity < length + size) capacity *= 2;
      if (capacity === before.length) capacity *= 2;
      this.#bytes = new Uint8Array(capacity);
      this.#view = new DataView(this.#bytes.buffer);
    }
    this.#bytes.set(before.subarray(this.#start, this.#end));
    this.#start = 0;
    this.#end = length;
  }
}
