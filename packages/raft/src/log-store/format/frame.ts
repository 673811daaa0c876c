/**
 * The bytes of the write-ahead log, as docs/formats.md describes them: frames, and batches of frames closed by a commit frame whose
 * CRC covers the batch. The CRC is seeded with the directory's incarnation, the segment's number and the batch's position, so
 * that a batch is valid in one place only: neither stale bytes of a reused file nor a client's data can pass for one.
 */

import { crc32 } from 'node:zlib';
import {
  describeFeatures,
  hasFeature,
  MalformedError,
  missingFeatures,
  NO_FEATURES,
  type FeatureSet,
} from '@holdfast/protocol';
import {
  invariant,
  logIndex,
  serverId,
  term,
  type Entry,
  type HardState,
  type LogIndex,
  type Term,
} from '../../core/index.ts';
import { DISK_FEATURES, DiskFeature } from '../files/disk-features.ts';
import { decodeEntries, ENTRY_HEADER_BYTES, entryBlockBytes, writeEntries } from './entry-block.ts';
import type { ServerIdentity } from '../errors/identity-mismatch-error.ts';
import type { WriteBatch } from '../contract/log-store.ts';

/** Of a segment that demands nothing of its reader. */
const WAL_FORMAT_VERSION = 1;
/** Of one whose header says which features it demands: a program that knows only the first version would not look for them. */
const WAL_DEMANDING_VERSION = 2;
export const FRAME_ALIGNMENT = 8;
export const FRAME_HEADER_BYTES = 8;
export const COMMIT_FRAME_BYTES = 16;
/** No frame is longer; a header that says so is not one. */
const MAX_FRAME_BYTES = 32 * 1024 * 1024;
/** Data of one entry. */
export const MAX_ENTRY_BYTES = 16 * 1024 * 1024;
/** A batch's entries are spread over frames of about this size, so that a reader needs little memory. */
const ENTRIES_FRAME_BYTES = 1024 * 1024;

export const FrameType = { segment: 1, hardState: 2, truncate: 3, entries: 4, commit: 5 } as const;
export type FrameType = (typeof FrameType)[keyof typeof FrameType];

/** The first word of a frame, little-endian, without its lowest byte, which is the type: "HFW" behind that. */
const FRAME_MAGIC = 0x57_46_48_00;
const HARD_STATE_BYTES = 16;
const TRUNCATE_BYTES = 8;
const ENTRIES_PREFIX_BYTES = 16;
const SEGMENT_FIXED_BYTES = 48;
const FEATURES_BYTES = 8;
const MAX_TEXT_BYTES = 1_024;
/** Buffers up to this length share their memory. */
const POOLED_BYTES = Buffer.poolSize / 4;
/** The commit frame's last field is the CRC of everything before it. */
const CRC_BYTES = 4;

/** A segment of a later version of this program: nothing is wrong with it. */
export class UnsupportedSegmentError extends MalformedError {}

/** Which data directory a log belongs to. */
export interface LogIdentity extends ServerIdentity {
  readonly incarnation: string;
}

/** The first frame of a segment; the hard state follows it in the same batch, so that older segments can go one day. */
export interface SegmentHeader extends LogIdentity {
  /** What a program must know to read the segment. */
  readonly features: FeatureSet;
  readonly number: number;
  /** The log index that comes next, and the term of the entry before it. */
  readonly firstIndex: LogIndex;
  readonly previousTerm: Term;
  /** Where the records of the segment before end; 0 in the first. */
  readonly previousEnd: number;
}

/** Whether the log before this segment is void: it goes on behind a snapshot. */
export function restartsLog({ features }: SegmentHeader): boolean {
  return hasFeature(features, DiskFeature.restart);
}

export interface LoggedBatch extends WriteBatch {
  readonly header?: SegmentHeader;
}

export interface FrameHeader {
  readonly type: FrameType;
  readonly payloadBytes: number;
}

const place = new Uint8Array(16);
const placeView = viewOf(place);

/** Of one log, for {@link batchSeed}. */
export function logSeed(incarnation: string): number {
  return crc32(new TextEncoder().encode(incarnation));
}

/** What the CRC of a batch at `position` starts from. */
export function batchSeed(seed: number, segment: number, position: number): number {
  placeView.setFloat64(0, segment, true);
  placeView.setFloat64(8, position, true);
  return crc32(place, seed);
}

export function frameBytes(payloadBytes: number): number {
  return FRAME_HEADER_BYTES + Math.ceil(payloadBytes / FRAME_ALIGNMENT) * FRAME_ALIGNMENT;
}

/** Undefined for bytes that are no frame header. */
export function parseFrameHeader(bytes: Uint8Array): FrameHeader | undefined {
  if (bytes.length < FRAME_HEADER_BYTES) return undefined;
  const type = parseFrameType(readWord(bytes, 0) - FRAME_MAGIC);
  const payloadBytes = readWord(bytes, 4);
  if (type === undefined || payloadBytes > MAX_FRAME_BYTES - FRAME_HEADER_BYTES) return undefined;
  if (type === FrameType.commit && payloadBytes !== COMMIT_FRAME_BYTES - FRAME_HEADER_BYTES) return undefined;
  return { type, payloadBytes };
}

/** Without a view: recovery looks for frames at every place that could begin one. The last byte must not become the sign. */
function readWord(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16);
  return low + (bytes[at + 3] ?? 0) * 2 ** 24;
}

function parseFrameType(value: number): FrameType | undefined {
  switch (value) {
    case FrameType.segment:
    case FrameType.hardState:
    case FrameType.truncate:
    case FrameType.entries:
    case FrameType.commit:
      return value;
    default:
      return undefined;
  }
}

/** Whether `frame`, a whole commit frame, closes a batch of `batchBytes` whose CRC was `crc` up to this frame. */
export function commits(frame: Uint8Array, batchBytes: number, crc: number): boolean {
  const view = viewOf(frame);
  const crcAt = COMMIT_FRAME_BYTES - CRC_BYTES;
  return (
    view.getUint32(FRAME_HEADER_BYTES, true) === batchBytes &&
    view.getUint32(crcAt, true) === crc32(frame.subarray(0, crcAt), crc)
  );
}

export function batchBytes(batch: LoggedBatch): number {
  let bytes = COMMIT_FRAME_BYTES;
  if (batch.header !== undefined) bytes += frameBytes(segmentPayloadBytes(batch.header));
  if (batch.hardState !== undefined) bytes += frameBytes(HARD_STATE_BYTES);
  if (batch.truncateFrom !== undefined) bytes += frameBytes(TRUNCATE_BYTES);
  for (const chunk of entryChunks(batch.entries)) bytes += frameBytes(ENTRIES_PREFIX_BYTES + entryBlockBytes(chunk));
  return bytes;
}

/** The whole batch, commit frame included. */
export function encodeBatch(batch: LoggedBatch, seed: number): Uint8Array {
  const bytes = zeros(batchBytes(batch));
  const view = viewOf(bytes);
  let at = 0;
  const begin = (type: FrameType, payloadBytes: number): number => {
    view.setUint32(at, FRAME_MAGIC + type, true);
    view.setUint32(at + 4, payloadBytes, true);
    const payload = at + FRAME_HEADER_BYTES;
    at += frameBytes(payloadBytes);
    return payload;
  };
  if (batch.header !== undefined) {
    writeSegmentHeader(bytes, begin(FrameType.segment, segmentPayloadBytes(batch.header)), batch.header);
  }
  if (batch.hardState !== undefined) {
    const payload = begin(FrameType.hardState, HARD_STATE_BYTES);
    view.setFloat64(payload, batch.hardState.term, true);
    view.setFloat64(payload + 8, batch.hardState.votedFor, true);
  }
  if (batch.truncateFrom !== undefined) {
    view.setFloat64(begin(FrameType.truncate, TRUNCATE_BYTES), batch.truncateFrom, true);
  }
  for (const chunk of entryChunks(batch.entries)) {
    const payload = begin(FrameType.entries, ENTRIES_PREFIX_BYTES + entryBlockBytes(chunk));
    view.setFloat64(payload, chunk[0]?.index ?? 0, true);
    view.setUint32(payload + 8, chunk.length, true);
    writeEntries(bytes, payload + ENTRIES_PREFIX_BYTES, chunk);
  }
  view.setUint32(begin(FrameType.commit, COMMIT_FRAME_BYTES - FRAME_HEADER_BYTES), bytes.length, true);
  invariant(at === bytes.length, 'a-batch-has-the-length-it-was-given');
  view.setUint32(at - CRC_BYTES, crc32(bytes.subarray(0, at - CRC_BYTES), seed), true);
  return bytes;
}

/**
 * The content of a batch whose CRC was found right. `frames` are all but the commit frame, in order.
 * @throws MalformedError
 */
export function decodeBatch(
  frames: readonly { readonly type: FrameType; readonly payload: Uint8Array }[],
): LoggedBatch {
  let header: SegmentHeader | undefined;
  let hardState: HardState | undefined;
  let truncateFrom: LogIndex | undefined;
  const entries: Entry[] = [];
  for (const { type, payload } of frames) {
    switch (type) {
      case FrameType.segment:
        header = decodeSegmentHeader(payload);
        break;
      case FrameType.hardState:
        hardState = {
          term: term(readInteger(payload, 0, 'term')),
          votedFor: serverId(readInteger(payload, 8, 'votedFor')),
        };
        break;
      case FrameType.truncate:
        truncateFrom = logIndex(readInteger(payload, 0, 'truncateFrom'));
        break;
      case FrameType.entries:
        for (const entry of decodeEntriesFrame(payload)) entries.push(entry);
        break;
      case FrameType.commit:
        throw new MalformedError('a commit frame within a batch');
    }
  }
  return {
    ...(header === undefined ? {} : { header }),
    ...(hardState === undefined ? {} : { hardState }),
    ...(truncateFrom === undefined ? {} : { truncateFrom }),
    entries,
  };
}

/** @throws MalformedError, UnsupportedSegmentError */
export function decodeSegmentHeader(payload: Uint8Array): SegmentHeader {
  const version = readInteger(payload, 0, 'format version');
  if (version !== WAL_FORMAT_VERSION && version !== WAL_DEMANDING_VERSION) {
    throw new UnsupportedSegmentError(
      `format version ${version} is unknown to this program, which reads versions ${WAL_FORMAT_VERSION} and ${WAL_DEMANDING_VERSION}`,
    );
  }
  const clusterId = readText(payload, SEGMENT_FIXED_BYTES, 'clusterId');
  const incarnation = readText(payload, clusterId.end, 'incarnation');
  const features = version === WAL_FORMAT_VERSION ? NO_FEATURES : readInteger(payload, incarnation.end, 'features');
  const unknown = missingFeatures(features, DISK_FEATURES);
  if (unknown !== NO_FEATURES) {
    throw new UnsupportedSegmentError(
      `it demands features that this program does not know (${describeFeatures(unknown)})`,
    );
  }
  return {
    features,
    number: readInteger(payload, 8, 'segment number'),
    serverId: serverId(readInteger(payload, 16, 'serverId')),
    firstIndex: logIndex(readInteger(payload, 24, 'firstIndex')),
    previousTerm: term(readInteger(payload, 32, 'previousTerm')),
    previousEnd: readInteger(payload, 40, 'previousEnd'),
    clusterId: clusterId.text,
    incarnation: incarnation.text,
  };
}

function writeSegmentHeader(bytes: Uint8Array, at: number, header: SegmentHeader): void {
  const view = viewOf(bytes);
  const numbers = [
    header.features === NO_FEATURES ? WAL_FORMAT_VERSION : WAL_DEMANDING_VERSION,
    header.number,
    header.serverId,
    header.firstIndex,
    header.previousTerm,
    header.previousEnd,
  ];
  for (const [place, value] of numbers.entries()) view.setFloat64(at + place * 8, value, true);
  let end = at + SEGMENT_FIXED_BYTES;
  for (const text of [header.clusterId, header.incarnation]) {
    const encoded = new TextEncoder().encode(text);
    view.setUint32(end, encoded.length, true);
    bytes.set(encoded, end + 4);
    end += 4 + encoded.length;
  }
  if (header.features !== NO_FEATURES) view.setFloat64(end, header.features, true);
}

function segmentPayloadBytes({ clusterId, incarnation, features }: SegmentHeader): number {
  let bytes = SEGMENT_FIXED_BYTES + (features === NO_FEATURES ? 0 : FEATURES_BYTES);
  for (const text of [clusterId, incarnation]) bytes += 4 + new TextEncoder().encode(text).length;
  return bytes;
}

function decodeEntriesFrame(payload: Uint8Array): Entry[] {
  const firstIndex = logIndex(readInteger(payload, 0, 'first index'));
  if (payload.length < ENTRIES_PREFIX_BYTES) throw new MalformedError('an entries frame ends within its prefix');
  const count = viewOf(payload).getUint32(8, true);
  const entries = decodeEntries(payload.subarray(ENTRIES_PREFIX_BYTES), firstIndex);
  if (entries.length !== count) throw new MalformedError(`${entries.length} entries in a frame for ${count}`);
  return entries;
}

function entryChunks(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  if (entries.length === 0) return [];
  if (entryBlockBytes(entries) <= ENTRIES_FRAME_BYTES) return [entries];
  const chunks: (readonly Entry[])[] = [];
  let begin = 0;
  let bytes = 0;
  for (const [at, { data }] of entries.entries()) {
    const entryBytes = ENTRY_HEADER_BYTES + data.length;
    if (at > begin && bytes + entryBytes > ENTRIES_FRAME_BYTES) {
      chunks.push(entries.slice(begin, at));
      begin = at;
      bytes = 0;
    }
    bytes += entryBytes;
  }
  chunks.push(begin === 0 ? entries : entries.slice(begin));
  return chunks;
}

function readInteger(payload: Uint8Array, offset: number, name: string): number {
  if (payload.length < offset + 8) throw new MalformedError(`the frame ends before its ${name}`);
  const value = viewOf(payload).getFloat64(offset, true);
  if (!Number.isSafeInteger(value) || value < 0) throw new MalformedError(`${name} is ${value}`);
  return value;
}

function readText(payload: Uint8Array, offset: number, name: string): { readonly text: string; readonly end: number } {
  if (payload.length < offset + 4) throw new MalformedError(`the frame ends before its ${name}`);
  const length = viewOf(payload).getUint32(offset, true);
  const end = offset + 4 + length;
  if (length > MAX_TEXT_BYTES || end > payload.length) throw new MalformedError(`${name} is longer than its frame`);
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(payload.subarray(offset + 4, end)), end };
  } catch (error) {
    throw new MalformedError(`${name} is not UTF-8`, { cause: error });
  }
}

/** A small one is a piece of a pool: memory of its own would cost more than all that is written into it. */
function zeros(length: number): Uint8Array {
  return length <= POOLED_BYTES ? Buffer.allocUnsafe(length).fill(0) : new Uint8Array(length);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
