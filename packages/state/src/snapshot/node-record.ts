/** A node in a snapshot, with what makes it a lock's container or a queue node. */

import { MAX_DATA_BYTES, MAX_UTF8_BYTES_PER_UNIT, readText } from '@holdfast/protocol';

import { NODE_NUMBERS } from '../tree/storage/node-rows.ts';
import type { NodeSlot, NodeStore } from '../tree/node-store.ts';
import type { NodeImage } from '../tree/tree-restore.ts';
import type { ByteQueue } from './byte-queue.ts';
import {
  isIndex,
  LOCK_BYTES,
  MAX_NODE_RECORD_BYTES,
  NODE_BYTES,
  QUEUE_NODE_BYTES,
  readIndex,
  RECORD_HEAD_BYTES,
  RecordType,
  writeHead,
} from './format.ts';
import { malformed, wellFormed } from '../snapshot-error.ts';

export type NodeRole =
  | { readonly type: 'node' }
  | { readonly type: 'lock'; readonly kind: number }
  | { readonly type: 'queueNode'; readonly token: number; readonly grantedAt: number };

/** Behind the slot and the parent. */
const NUMBERS_AT = 8;
const NUMBER_NAMES = [
  'czxid',
  'mzxid',
  'pzxid',
  'ctime',
  'mtime',
  'version',
  'cversion',
  'number of creations',
  'ephemeral owner',
] as const;

export const PLAIN_NODE: NodeRole = { type: 'node' };

export interface NodeRecordHead {
  readonly role: NodeRole;
  /** Where the node's own fields begin. */
  readonly at: number;
}

/** `numbers` is for its use: one for many nodes. */
export function writeNode(
  into: ByteQueue,
  slot: NodeSlot,
  nodes: NodeStore,
  role: NodeRole,
  numbers: Float64Array,
): void {
  const dataLength = nodes.dataLength(slot);
  const nameRoom = nodes.nameLength(slot) * MAX_UTF8_BYTES_PER_UNIT;
  const start = into.reserve(RECORD_HEAD_BYTES + QUEUE_NODE_BYTES + NODE_BYTES + nameRoom + dataLength);
  const { bytes, view } = into;
  const at = writeRole(view, start + RECORD_HEAD_BYTES, role);
  view.setUint32(at, slot, true);
  view.setUint32(at + 4, nodes.parent(slot), true);
  nodes.copyNumbers(slot, numbers);
  for (let field = 0; field < NODE_NUMBERS; field += 1) {
    view.setFloat64(at + NUMBERS_AT + 8 * field, numbers[field] ?? 0, true);
  }
  const nameStart = at + NODE_BYTES;
  const nameEnd = nodes.copyName(slot, bytes, nameStart);
  view.setUint16(at + 80, nameEnd - nameStart, true);
  view.setUint32(at + 82, dataLength, true);
  nodes.copyData(slot, bytes, nameEnd);
  const end = nameEnd + dataLength;
  writeHead(view, start, RecordType[role.type], end);
  into.commit(end);
}

function writeRole(view: DataView, at: number, role: NodeRole): number {
  switch (role.type) {
    case 'node':
      return at;
    case 'lock':
      view.setUint8(at, role.kind);
      return at + LOCK_BYTES;
    case 'queueNode':
      view.setFloat64(at, role.token, true);
      view.setFloat64(at + 8, role.grantedAt, true);
      return at + QUEUE_NODE_BYTES;
  }
}

/** The role of the record of that type between `at` and `end`. @throws SnapshotError */
export function readRole(type: NodeRole['type'], view: DataView, at: number, end: number): NodeRecordHead {
  if (end - at > MAX_NODE_RECORD_BYTES)
    throw malformed(`has a node of ${end - at} bytes, at most ${MAX_NODE_RECORD_BYTES}`);
  switch (type) {
    case 'node':
      return { role: PLAIN_NODE, at };
    case 'lock':
      wellFormed(end - at >= LOCK_BYTES, () => 'ends within a lock');
      return { role: { type, kind: view.getUint8(at) }, at: at + LOCK_BYTES };
    case 'queueNode': {
      wellFormed(end - at >= QUEUE_NODE_BYTES, () => 'ends within a queue node');
      const token = readIndex(view, at, 'token');
      const grantedAt = readIndex(view, at + 8, 'time of a grant');
      return { role: { type, token, grantedAt }, at: at + QUEUE_NODE_BYTES };
    }
  }
}

/** The node whose fields begin at `at`; its data are a view of `bytes`. @throws SnapshotError; MalformedError for a name that is no text */
export function readNode(bytes: Uint8Array, view: DataView, at: number, end: number, into: NodeImage): void {
  if (end - at < NODE_BYTES) throw malformed('ends within a node');
  const nameStart = at + NODE_BYTES;
  const nameEnd = nameStart + view.getUint16(at + 80, true);
  const dataLength = view.getUint32(at + 82, true);
  if (nameEnd + dataLength !== end) throw malformed('has a node whose lengths do not agree');
  if (dataLength > MAX_DATA_BYTES) throw malformed(`has a node with ${dataLength} bytes of data`);
  into.name = readText(bytes, nameStart, nameEnd);
  into.parent = view.getUint32(at + 4, true) as NodeSlot;
  into.data = bytes.subarray(nameEnd, end);
  const { numbers } = into;
  for (let field = 0; field < NODE_NUMBERS; field += 1) {
    const value = view.getFloat64(at + NUMBERS_AT + 8 * field, true);
    if (!isIndex(value)) throw malformed(`has the ${NUMBER_NAMES[field]} ${value}`);
    numbers[field] = value;
  }
}
