/**
 * Consecutive entries as bytes: the same block in the write-ahead log and between servers. For each entry, little-endian:
 * length of the data (u32), type (u8), term (f64), data. The index of the first entry is known from elsewhere and the block's
 * length tells the count. Decoders check every field, since what arrives may be hostile.
 */

import { MalformedError } from '@holdfast/protocol';
import { EntryType, logIndex, type Entry, type LogIndex, type Term } from '../../core/types.ts';

export const ENTRY_HEADER_BYTES = 13;

const TYPE_OFFSET = 4;
const TERM_OFFSET = 5;

export function entryBlockBytes(entries: readonly Entry[]): number {
  let bytes = 0;
  for (const entry of entries) bytes += ENTRY_HEADER_BYTES + entry.data.length;
  return bytes;
}

export function encodeEntries(entries: readonly Entry[]): Uint8Array {
  const block = new Uint8Array(entryBlockBytes(entries));
  writeEntries(block, 0, entries);
  return block;
}

/** Writes the block into `target` and returns the offset behind it. */
export function writeEntries(target: Uint8Array, offset: number, entries: readonly Entry[]): number {
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
  let position = offset;
  for (const { data, type, term } of entries) {
    view.setUint32(position, data.length, true);
    view.setUint8(position + TYPE_OFFSET, type);
    view.setFloat64(position + TERM_OFFSET, term, true);
    target.set(data, position + ENTRY_HEADER_BYTES);
    position += ENTRY_HEADER_BYTES + data.length;
  }
  return position;
}

/**
 * The data of the entries are views of `block`: copy what outlives it.
 * @throws MalformedError
 */
export function decodeEntries(block: Uint8Array, firstIndex: LogIndex): Entry[] {
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  const entries: Entry[] = [];
  let index: number = firstIndex;
  let position = 0;
  while (position < block.length) {
    if (block.length - position < ENTRY_HEADER_BYTES) throw new MalformedError(`entry ${index} ends within its header`);
    const dataAt = position + ENTRY_HEADER_BYTES;
    const length = view.getUint32(position, true);
    if (length > block.length - dataAt) throw new MalformedError(`entry ${index} is longer than its block`);
    entries.push({
      index: decodeIndex(index),
      term: decodeTerm(view.getFloat64(position + TERM_OFFSET, true), index),
      type: decodeType(view.getUint8(position + TYPE_OFFSET), index),
      // Never a Buffer, whose slice() would be a view and not a copy.
      data: new Uint8Array(block.buffer, block.byteOffset + dataAt, length),
    });
    position = dataAt + length;
    index += 1;
  }
  return entries;
}

function decodeIndex(value: number): LogIndex {
  if (!Number.isSafeInteger(value) || value < 1)
    throw new MalformedError(`entry index ${value} is not from 1 to 2^53 − 1`);
  return logIndex(value);
}

function decodeTerm(value: number, index: number): Term {
  if (!Number.isSafeInteger(value) || value < 1) throw new MalformedError(`entry ${index} has term ${value}`);
  return value as Term;
}

function decodeType(value: number, index: number): EntryType {
  switch (value) {
    case EntryType.noop:
    case EntryType.command:
    case EntryType.configuration:
      return value;
    default:
      throw new MalformedError(`entry ${index} has the unknown type ${value}`);
  }
}
