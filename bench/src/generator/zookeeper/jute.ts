/** jute, ZooKeeper's serialization: big-endian integers, length-prefixed strings and buffers. Only what the generator needs. */

export class JuteWriter {
  #bytes: Buffer;
  /** The first four bytes are the frame's length. */
  #at = 4;

  constructor(sizeHint = 256) {
    this.#bytes = Buffer.allocUnsafe(sizeHint);
  }

  int(value: number): this {
    this.#reserve(4);
    this.#at = this.#bytes.writeInt32BE(value, this.#at);
    return this;
  }

  long(value: bigint): this {
    this.#reserve(8);
    this.#at = this.#bytes.writeBigInt64BE(value, this.#at);
    return this;
  }

  boolean(value: boolean): this {
    this.#reserve(1);
    this.#at = this.#bytes.writeUInt8(value ? 1 : 0, this.#at);
    return this;
  }

  string(value: string): this {
    const length = Buffer.byteLength(value);
    this.int(length);
    this.#reserve(length);
    this.#at += this.#bytes.write(value, this.#at);
    return this;
  }

  buffer(value: Uint8Array): this {
    this.int(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
    return this;
  }

  /** The frame with its length in front. */
  frame(): Buffer {
    this.#bytes.writeInt32BE(this.#at - 4, 0);
    return this.#bytes.subarray(0, this.#at);
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#at + length));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

export class JuteReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  int(): number {
    const value = this.#bytes.readInt32BE(this.#at);
    this.#at += 4;
    return value;
  }

  long(): bigint {
    const value = this.#bytes.readBigInt64BE(this.#at);
    this.#at += 8;
    return value;
  }

  string(): string {
    const length = this.int();
    if (length < 0) return '';
    const value = this.#bytes.toString('utf8', this.#at, this.#at + length);
    this.#at += length;
    return value;
  }

  boolean(): boolean {
    const value = this.#bytes[this.#at] !== 0;
    this.#at += 1;
    return value;
  }

  /** A copy. */
  buffer(): Buffer {
    const length = Math.max(0, this.int());
    const value = Buffer.from(this.#bytes.subarray(this.#at, this.#at + length));
    this.#at += length;
    return value;
  }
}
