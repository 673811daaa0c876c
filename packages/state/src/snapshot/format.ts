/**
 * The bytes of a snapshot of the state: a header, records in any order, and a record that ends them. docs/formats.md has the tables.
 * Everything else of the state follows from what is here, and is made anew by whoever restores it.
 */

import { MAX_DATA_BYTES, MAX_PATH_LENGTH, MAX_UTF8_BYTES_PER_UNIT } from '@holdfast/protocol';

import type { StateCounts } from '../state.ts';
import { SnapshotError, wellFormed } from '../snapshot-error.ts';

/** Which is written. */
const SNAPSHOT_FORMAT_VERSION = 1;
/** Which every format has: magic and format version. */
export const PREAMBLE_BYTES = 8;
export const HEADER_BYTES = 104;
const MAGIC = 0x53_53_46_48;

/** Length of what follows the head (u32), type (u8). */
export const RECORD_HEAD_BYTES = 5;
export const RecordType = {
  session: 1,
  node: 2,
  lock: 3,
  queueNode: 4,
  freeSlots: 5,
  end: 6,
  feature: 7,
  nodeExtra: 8,
} as const;

/** Fixed fields of a node, before name and data. */
export const NODE_BYTES = 86;
/** Fixed fields of a session, before label and answers. */
export const SESSION_BYTES = 84;
/** What a lock's container and a queue node have before their fixed fields. */
export const LOCK_BYTES = 1;
export const QUEUE_NODE_BYTES = 16;
/** Of a feature, before its name: number (u16), required (u8). */
export const FEATURE_BYTES = 3;
/** Of an extra, before its bytes: slot (u32), tag (u16). */
export const NODE_EXTRA_BYTES = 6;
/** Slots in one record of free ones. */
export const MAX_FREE_SLOTS = 16_384;
/** A session that has as many of the longest answers in its reply cache as it may is the largest record. */
export const MAX_RECORD_BYTES = 32 * 1024 * 1024;
export const MAX_NODE_RECORD_BYTES =
  NODE_BYTES + QUEUE_NODE_BYTES + MAX_PATH_LENGTH * MAX_UTF8_BYTES_PER_UNIT + MAX_DATA_BYTES;

export interface SnapshotHeader {
  /** By which rules entries are applied. */
  readonly version: number;
  /** Records of features, which follow at once. */
  readonly features: number;
  readonly index: number;
  readonly stamp: number;
  readonly digest: { readonly low: number; readonly high: number };
  readonly counts: StateCounts;
  /** Slots of nodes, free ones included. */
  readonly slots: number;
}

export function writeHeader(header: SnapshotHeader, view: DataView, at: number): number {
  const { counts } = header;
  view.setUint32(at, MAGIC, true);
  view.setUint32(at + 4, SNAPSHOT_FORMAT_VERSION, true);
  view.setUint32(at + 8, header.features, true);
  view.setUint32(at + 12, header.version, true);
  view.setFloat64(at + 16, header.index, true);
  view.setFloat64(at + 24, header.stamp, true);
  view.setInt32(at + 32, header.digest.low, true);
  view.setInt32(at + 36, header.digest.high, true);
  view.setFloat64(at + 40, counts.sessions, true);
  view.setFloat64(at + 48, counts.nodes, true);
  view.setFloat64(at + 56, counts.dataBytes, true);
  view.setFloat64(at + 64, counts.locks, true);
  view.setFloat64(at + 72, counts.holds, true);
  view.setFloat64(at + 80, counts.waits, true);
  view.setFloat64(at + 88, header.slots, true);
  view.setFloat64(at + 96, counts.nameBytes, true);
  return at + HEADER_BYTES;
}

/**
 * Of the bytes with which a snapshot begins, in every format.
 *
 * @throws SnapshotError when they are of no snapshot
 */
export function readFormatVersion(view: DataView, at: number): number {
  wellFormed(view.getUint32(at, true) === MAGIC, () => 'does not begin as a snapshot of the state does');
  return view.getUint32(at + 4, true);
}

/** An integer from 0 to 2^53 − 1, which is not −0. */
export function isIndex(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);
}

/** @throws SnapshotError when it is no index */
export function readIndex(view: DataView, at: number, what: string): number {
  const value = view.getFloat64(at, true);
  if (!isIndex(value)) throw new SnapshotError('MALFORMED', `has the ${what} ${value}`);
  // A number of its own takes memory; an integer that fits a word does not.
  const word = value | 0;
  return word === value ? word : value;
}

/** Sets the head of the record whose content lies between. */
export function writeHead(view: DataView, at: number, type: number, end: number): void {
  view.setUint32(at, end - at - RECORD_HEAD_BYTES, true);
  view.setUint8(at + 4, type);
}
