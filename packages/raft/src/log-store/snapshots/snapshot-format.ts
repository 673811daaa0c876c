/**
 * The bytes of a snapshot file, as docs/formats.md describes them: a header, chunks of one size (but for the last), and a trailer. The
 * CRC of each chunk is seeded with that of the header and its place, so that no part of one file can stand in another.
 */

import { crc32 } from 'node:zlib';
import { MalformedError } from '@holdfast/protocol';
import { logIndex, serverId, term } from '../../core/index.ts';
import type { LogIdentity } from '../format/frame.ts';
import type { SnapshotMeta } from '../contract/snapshot.ts';

const SNAPSHOT_FORMAT_VERSION = 1;
export const SNAPSHOT_FIXED_BYTES = 56;
export const CHUNK_HEADER_BYTES = 8;
export const TRAILER_BYTES = 24;
/** No chunk is longer. */
export const MAX_SNAPSHOT_CHUNK_BYTES = 8 * 1024 * 1024;
export const MAX_SNAPSHOT_HEADER_BYTES = 4 * 1024 * 1024;

const MAGIC = new TextEncoder().encode('HFSNAPSH');
const KNOWN_FEATURES = 0;
const RECEIVED_FLAG = 1;
const CRC_BYTES = 4;

/** A snapshot of a later version of this program: nothing is wrong with it. */
export class UnsupportedSnapshotError extends MalformedError {}

export interface SnapshotHeader extends SnapshotMeta, LogIdentity {
  readonly chunkBytes: number;
}

export interface DecodedHeader extends SnapshotHeader {
  readonly headerBytes: number;
  /** Of the header: what the chunks' CRCs start from. */
  readonly seed: number;
}

export interface SnapshotTrailer {
  readonly bytes: number;
  readonly crc: number;
}

export function encodeHeader(header: SnapshotHeader): Uint8Array {
  const { clusterId, incarnation, configuration } = header;
  const parts = [new TextEncoder().encode(clusterId), new TextEncoder().encode(incarnation), configuration];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + 4 + part.length, SNAPSHOT_FIXED_BYTES + CRC_BYTES));
  const view = viewOf(bytes);
  bytes.set(MAGIC);
  view.setUint32(8, SNAPSHOT_FORMAT_VERSION, true);
  view.setUint32(12, 0, true);
  view.setUint32(16, bytes.length, true);
  view.setUint32(20, header.chunkBytes, true);
  view.setFloat64(24, header.serverId, true);
  view.setFloat64(32, header.index, true);
  view.setFloat64(40, header.term, true);
  view.setFloat64(48, header.origin === 'received' ? RECEIVED_FLAG : 0, true);
  let at = SNAPSHOT_FIXED_BYTES;
  for (const part of parts) {
    view.setUint32(at, part.length, true);
    bytes.set(part, at + 4);
    at += 4 + part.length;
  }
  view.setUint32(at, crc32(bytes.subarray(0, at)), true);
  return bytes;
}

/** The length that the header has, from its first bytes. @throws MalformedError, UnsupportedSnapshotError */
export function headerLength(start: Uint8Array): number {
  if (start.length < SNAPSHOT_FIXED_BYTES) throw new MalformedError('it ends within its header');
  if (MAGIC.some((byte, at) => start[at] !== byte)) throw new MalformedError('it does not begin as a snapshot');
  const view = viewOf(start);
  const version = view.getUint32(8, true);
  const features = view.getUint32(12, true);
  if (version !== SNAPSHOT_FORMAT_VERSION || features !== KNOWN_FEATURES) {
    throw new UnsupportedSnapshotError(
      `format version ${version} with features ${features} is unknown to this program, which reads version ${SNAPSHOT_FORMAT_VERSION}`,
    );
  }
  const length = view.getUint32(16, true);
  if (length < SNAPSHOT_FIXED_BYTES + CRC_BYTES || length > MAX_SNAPSHOT_HEADER_BYTES) {
    throw new MalformedError(`its header has ${length} bytes`);
  }
  return length;
}

/** `bytes` has {@link headerLength}. @throws MalformedError, UnsupportedSnapshotError */
export function decodeHeader(bytes: Uint8Array): DecodedHeader {
  const headerBytes = headerLength(bytes);
  const view = viewOf(bytes);
  const crcAt = headerBytes - CRC_BYTES;
  if (bytes.length < headerBytes) throw new MalformedError('it ends within its header');
  const seed = view.getUint32(crcAt, true);
  if (crc32(bytes.subarray(0, crcAt)) !== seed) throw new MalformedError('the checksum of its header is wrong');
  let at = SNAPSHOT_FIXED_BYTES;
  const part = (): Uint8Array => {
    const length = at + 4 <= crcAt ? view.getUint32(at, true) : Infinity;
    const end = at + 4 + length;
    if (end > crcAt) throw new MalformedError('a part of its header is longer than the header');
    const found = Uint8Array.from(bytes.subarray(at + 4, end));
    at = end;
    return found;
  };
  const text = (): string => new TextDecoder('utf-8', { fatal: true }).decode(part());
  const chunkBytes = view.getUint32(20, true);
  if (chunkBytes < 1 || chunkBytes > MAX_SNAPSHOT_CHUNK_BYTES)
    throw new MalformedError(`its chunks have ${chunkBytes} bytes`);
  const flags = readInteger(view, 48, 'flags');
  if (flags > RECEIVED_FLAG) throw new UnsupportedSnapshotError(`its flags ${flags} are unknown to this program`);
  return {
    chunkBytes,
    serverId: serverId(readInteger(view, 24, 'serverId')),
    index: logIndex(readInteger(view, 32, 'index')),
    term: term(readInteger(view, 40, 'term')),
    origin: flags === RECEIVED_FLAG ? 'received' : 'taken',
    clusterId: text(),
    incarnation: text(),
    configuration: part(),
    headerBytes,
    seed,
  };
}

/** What stands before the data of the chunk that begins at `offset` of the data. */
export function encodeChunkHeader(data: Uint8Array, offset: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(CHUNK_HEADER_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, data.length, true);
  view.setUint32(4, chunkCrc(data, offset, seed), true);
  return bytes;
}

/** Whether `chunk`, its header included, is the one that was written with `length` bytes at `offset` of the data. */
export function isChunk(chunk: Uint8Array, length: number, offset: number, seed: number): boolean {
  if (chunk.length !== CHUNK_HEADER_BYTES + length) return false;
  const view = viewOf(chunk);
  if (view.getUint32(0, true) !== length) return false;
  return view.getUint32(4, true) === chunkCrc(chunk.subarray(CHUNK_HEADER_BYTES), offset, seed);
}

export function encodeTrailer({ bytes, crc }: SnapshotTrailer, seed: number): Uint8Array {
  const encoded = new Uint8Array(TRAILER_BYTES);
  const view = viewOf(encoded);
  view.setFloat64(8, bytes, true);
  view.setUint32(16, crc, true);
  view.setUint32(20, crc32(encoded.subarray(0, 20), seed), true);
  return encoded;
}

/** @throws MalformedError */
export function decodeTrailer(encoded: Uint8Array, seed: number): SnapshotTrailer {
  if (encoded.length < TRAILER_BYTES) throw new MalformedError('it ends before its trailer');
  const view = viewOf(encoded);
  const whole = view.getUint32(20, true) === crc32(encoded.subarray(0, 20), seed);
  if (!whole || view.getUint32(0, true) !== 0) throw new MalformedError('its trailer is not one');
  return { bytes: readInteger(view, 8, 'length'), crc: view.getUint32(16, true) };
}

export function chunkPosition({ headerBytes, chunkBytes }: DecodedHeader, chunk: number): number {
  return headerBytes + chunk * (CHUNK_HEADER_BYTES + chunkBytes);
}

/** Length of the file of so many bytes of data. */
export function fileLength(header: DecodedHeader, bytes: number): number {
  const chunks = Math.ceil(bytes / header.chunkBytes);
  return header.headerBytes + chunks * CHUNK_HEADER_BYTES + bytes + TRAILER_BYTES;
}

function chunkCrc(data: Uint8Array, offset: number, seed: number): number {
  const place = new Uint8Array(8);
  viewOf(place).setFloat64(0, offset, true);
  return crc32(data, crc32(place, seed));
}

function readInteger(view: DataView, at: number, name: string): number {
  const value = view.getFloat64(at, true);
  if (!Number.isSafeInteger(value) || value < 0) throw new MalformedError(`its ${name} is ${value}`);
  return value;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
