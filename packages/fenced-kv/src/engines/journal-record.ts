/**
 * The journal's bytes. A file is a header of 8 bytes, then records: magic, length of the payload, sequence number, CRC-32
 * over those and the payload, payload. The sequence number grows by one a record, so that stale bytes never pass for
 * the next one. A payload is a list of writes; an absent value is a deletion.
 */

import { crc32 } from 'node:zlib';

import type { Write } from './group-commit.ts';

export const JOURNAL_HEADER: Uint8Array = new TextEncoder().encode('FKVJNL01');

const MAGIC = 0x464b5652;
const RECORD_HEADER_BYTES = 20;
const CRC_OFFSET = 16;
const DELETED = 0xffff_ffff;

export interface JournalRecord {
  readonly sequence: number;
  readonly writes: readonly Write[];
  /** Position of the byte after the record. */
  readonly end: number;
}

export function encodeRecord(sequence: number, writes: readonly Write[]): Uint8Array {
  const payloadBytes = writes.reduce((sum, { key, value }) => sum + 8 + key.length + (value?.length ?? 0), 0);
  const record = new Uint8Array(RECORD_HEADER_BYTES + payloadBytes);
  const view = new DataView(record.buffer);
  view.setUint32(0, MAGIC);
  view.setUint32(4, payloadBytes);
  view.setBigUint64(8, BigInt(sequence));
  let position = RECORD_HEADER_BYTES;
  for (const { key, value } of writes) {
    view.setUint32(position, key.length);
    view.setUint32(position + 4, value?.length ?? DELETED);
    record.set(key, position + 8);
    if (value !== undefined) record.set(value, position + 8 + key.length);
    position += 8 + key.length + (value?.length ?? 0);
  }
  view.setUint32(CRC_OFFSET, checksum(record, 0, payloadBytes));
  return record;
}

/** The record at `position`, or undefined where no valid one with that sequence number or a later one is. */
export function decodeRecord(bytes: Uint8Array, position: number, sequence: number): JournalRecord | undefined {
  if (position + RECORD_HEADER_BYTES > bytes.length) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(position) !== MAGIC) return undefined;
  const payloadBytes = view.getUint32(position + 4);
  const end = position + RECORD_HEADER_BYTES + payloadBytes;
  const found = Number(view.getBigUint64(position + 8));
  if (end > bytes.length || found < sequence) return undefined;
  if (view.getUint32(position + CRC_OFFSET) !== checksum(bytes, position, payloadBytes)) return undefined;
  return { sequence: found, writes: decodeWrites(bytes, view, position + RECORD_HEADER_BYTES, end), end };
}

/** Whether a valid record begins anywhere after `position`: then what is at `position` was lost, not merely unfinished. */
export function hasRecordAfter(bytes: Uint8Array, position: number, sequence: number): boolean {
  const magic = Buffer.alloc(4);
  magic.writeUInt32BE(MAGIC);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let next = text.indexOf(magic, position + 1); next >= 0; next = text.indexOf(magic, next + 1)) {
    if (decodeRecord(bytes, next, sequence) !== undefined) return true;
  }
  return false;
}

function decodeWrites(bytes: Uint8Array, view: DataView, start: number, end: number): Write[] {
  const writes: Write[] = [];
  for (let position = start; position < end;) {
    const keyEnd = position + 8 + view.getUint32(position);
    const valueBytes = view.getUint32(position + 4);
    const key = bytes.slice(position + 8, keyEnd);
    position = valueBytes === DELETED ? keyEnd : keyEnd + valueBytes;
    writes.push({ key, value: valueBytes === DELETED ? undefined : bytes.slice(keyEnd, position) });
  }
  return writes;
}

function checksum(bytes: Uint8Array, position: number, payloadBytes: number): number {
  const payload = position + RECORD_HEADER_BYTES;
  return crc32(bytes.subarray(payload, payload + payloadBytes), crc32(bytes.subarray(position, position + CRC_OFFSET)));
}
