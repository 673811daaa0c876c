/**
 * Writes msgpack as Holdfast uses it, each value in its shortest form: the bytes are those that msgpackr writes, which a test compares.
 * Ours because nearly all that is written are tuples of a few numbers, for which a general writer takes most of its time to begin and end.
 *
 * Values are written into slabs, one behind the other, and handed out as views: an array of its own for each would be outside of V8's
 * heap, which costs more than to write it. Whoever keeps a view for long keeps its slab.
 */

import { MAX_UTF8_BYTES_PER_UNIT, writeText } from './text.ts';

export type Packable = number | string | boolean | Uint8Array | readonly Packable[];

const SLAB_BYTES = 8 * 1024;
const MAX_HEAD_BYTES = 5;
const MAX_NUMBER_BYTES = 9;

let slab = new Uint8Array(SLAB_BYTES);
let view = new DataView(slab.buffer);
/** Of the value that is being written. */
let start = 0;
let end = 0;

/** Half a surrogate pair, as a cut text may have at its end, becomes U+FFFD, since readers refuse malformed UTF-8. */
export function pack(value: Packable): Uint8Array {
  start = end;
  write(value);
  const packed = new Uint8Array(slab.buffer, start, end - start);
  // What needed more room than a slab has it for itself.
  if (slab.length > SLAB_BYTES) useSlab(SLAB_BYTES);
  return packed;
}

function write(value: Packable): void {
  if (typeof value === 'number') writeNumber(value);
  else if (typeof value === 'string') writeString(value);
  else if (typeof value === 'boolean') writeByte(value ? 0xc3 : 0xc2);
  else if (value instanceof Uint8Array) writeBytes(value);
  else writeArray(value);
}

function writeByte(byte: number): void {
  makeRoom(1);
  slab[end] = byte;
  end += 1;
}

function writeNumber(value: number): void {
  makeRoom(MAX_NUMBER_BYTES);
  if (value >>> 0 === value) {
    if (value < 0x80) {
      slab[end] = value;
      end += 1;
    } else {
      writeHead(value, 0xcc);
    }
  } else if (value >> 0 === value) {
    writeNegative(value);
  } else {
    slab[end] = 0xcb;
    view.setFloat64(end + 1, value);
    end += 9;
  }
}

function writeNegative(value: number): void {
  if (value >= -0x20) {
    slab[end] = value;
    end += 1;
  } else if (value >= -0x80) {
    slab[end] = 0xd0;
    view.setInt8(end + 1, value);
    end += 2;
  } else if (value >= -0x80_00) {
    slab[end] = 0xd1;
    view.setInt16(end + 1, value);
    end += 3;
  } else {
    slab[end] = 0xd2;
    view.setInt32(end + 1, value);
    end += 5;
  }
}

function writeString(text: string): void {
  makeRoom(MAX_HEAD_BYTES + text.length * MAX_UTF8_BYTES_PER_UNIT);
  // As of ASCII, which nearly all is; other text moves on if its head is longer.
  const expectedHead = stringHeadBytes(text.length);
  const textEnd = writeText(text, slab, end + expectedHead);
  const length = textEnd - end - expectedHead;
  const head = stringHeadBytes(length);
  if (head !== expectedHead) slab.copyWithin(end + head, end + expectedHead, textEnd);
  if (head === 1) {
    slab[end] = 0xa0 | length;
    end += 1;
  } else {
    writeHead(length, 0xd9);
  }
  end += length;
}

function stringHeadBytes(length: number): number {
  if (length < 0x20) return 1;
  if (length < 0x1_00) return 2;
  return length < 0x1_00_00 ? 3 : 5;
}

function writeBytes(bytes: Uint8Array): void {
  makeRoom(MAX_HEAD_BYTES + bytes.length);
  writeHead(bytes.length, 0xc4);
  slab.set(bytes, end);
  end += bytes.length;
}

function writeArray(values: readonly Packable[]): void {
  const { length } = values;
  makeRoom(MAX_HEAD_BYTES);
  if (length < 0x10) {
    slab[end] = 0x90 | length;
    end += 1;
  } else if (length < 0x1_00_00) {
    slab[end] = 0xdc;
    view.setUint16(end + 1, length);
    end += 3;
  } else {
    slab[end] = 0xdd;
    view.setUint32(end + 1, length);
    end += 5;
  }
  for (let at = 0; at < length; at += 1) write(values[at] as Packable);
}

/** A number or length of one, two or four bytes behind its token; `token` is that of one byte, and the others follow. */
function writeHead(value: number, token: number): void {
  if (value < 0x1_00) {
    slab[end] = token;
    slab[end + 1] = value;
    end += 2;
  } else if (value < 0x1_00_00) {
    slab[end] = token + 1;
    view.setUint16(end + 1, value);
    end += 3;
  } else {
    slab[end] = token + 2;
    view.setUint32(end + 1, value);
    end += 5;
  }
}

function makeRoom(bytes: number): void {
  if (end + bytes > slab.length) moveOn(bytes);
}

/** The value goes on in a new slab, with what has been written of it. */
function moveOn(bytes: number): void {
  const written = slab.subarray(start, end);
  useSlab(Math.max(SLAB_BYTES, 2 * written.length + bytes));
  slab.set(written);
  end = written.length;
}

function useSlab(bytes: number): void {
  slab = new Uint8Array(bytes);
  view = new DataView(slab.buffer);
  start = 0;
  end = 0;
}
