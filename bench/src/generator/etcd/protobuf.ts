/** Protocol buffers as far as etcd's messages need them: varints, length-delimited fields, and a reader that skips the rest. */

const VARINT = 0;
const FIXED64 = 1;
const LENGTH_DELIMITED = 2;
const FIXED32 = 5;
/** Lease ids use up to 63 bits; everything else stays below 2^53. */
export type ProtoInteger = number | bigint;

export class ProtoWriter {
  #bytes = Buffer.allocUnsafe(128);
  #at = 0;

  integer(field: number, value: ProtoInteger): this {
    if (value === 0 || value === 0n) return this;
    this.#varint(field * 8 + VARINT);
    this.#varint(value);
    return this;
  }

  bytes(field: number, value: Uint8Array | string): this {
    const length = typeof value === 'string' ? Buffer.byteLength(value) : value.length;
    if (length === 0) return this;
    this.#delimited(field, length);
    if (typeof value === 'string') this.#at += this.#bytes.write(value, this.#at);
    else {
      this.#bytes.set(value, this.#at);
      this.#at += length;
    }
    return this;
  }

  /** Written even when it is empty: presence counts for messages. */
  message(field: number, value: ProtoWriter): this {
    const inner = value.finish();
    this.#delimited(field, inner.length);
    this.#bytes.set(inner, this.#at);
    this.#at += inner.length;
    return this;
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  #delimited(field: number, length: number): void {
    this.#varint(field * 8 + LENGTH_DELIMITED);
    this.#varint(length);
    this.#reserve(length);
  }

  #varint(value: ProtoInteger): void {
    this.#reserve(10);
    if (typeof value === 'bigint') {
      let rest = BigInt.asUintN(64, value);
      for (; rest > 127n; rest >>= 7n) this.#bytes[this.#at++] = Number(rest & 127n) | 128;
      this.#bytes[this.#at++] = Number(rest);
      return;
    }
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.#bytes[this.#at++] = (rest % 128) | 128;
    this.#bytes[this.#at++] = rest;
  }

  #reserve(length: number): void {
    if (this.#at + length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#at + length));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}

/** One field: `value` of a varint, or where the bytes of a length-delimited one lie. */
export interface ProtoField {
  readonly number: number;
  readonly value: bigint;
  readonly bytes: Buffer;
}

const NO_BYTES = Buffer.alloc(0);

export function* protoFields(bytes: Buffer): Generator<ProtoField> {
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at] ?? 0;
      at += 1;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const number = tag >> 3;
    switch (tag & 7) {
      case VARINT:
        yield { number, value: varint(), bytes: NO_BYTES };
        break;
      case LENGTH_DELIMITED: {
        const length = Number(varint());
        yield { number, value: 0n, bytes: bytes.subarray(at, at + length) };
        at += length;
        break;
      }
      case FIXED64:
        at += 8;
        break;
      case FIXED32:
        at += 4;
        break;
      default:
        throw new Error(`protobuf wire type ${tag & 7} is unknown`);
    }
  }
}
