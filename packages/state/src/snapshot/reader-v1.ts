/** Format 1 of snapshots. */

import { readText } from '@holdfast/protocol';

import { malformed, SnapshotError, wellFormed } from '../snapshot-error.ts';
import { FIRST_STATE_VERSION } from '../state-version.ts';
import type { NodeSlot } from '../tree/node-slot.ts';
import { emptyImage } from '../tree/tree-restore.ts';
import {
  FEATURE_BYTES,
  HEADER_BYTES,
  MAX_FREE_SLOTS,
  NODE_EXTRA_BYTES,
  readIndex,
  RecordType,
  type SnapshotHeader,
} from './format.ts';
import { readNode, readRole, type NodeRole } from './node-record.ts';
import type { SnapshotReader, SnapshotSink } from './reader.ts';
import { readSession } from './session-record.ts';

/** The node that was read last. */
const image = emptyImage();

export const readerV1: SnapshotReader = {
  headerBytes: HEADER_BYTES,
  readHeader,
  readRecord(type, bytes, view, at, end, into) {
    switch (type) {
      case RecordType.session:
        into.session(readSession(bytes, view, at, end));
        return;
      case RecordType.node:
        takeNode('node', bytes, view, at, end, into);
        return;
      case RecordType.lock:
        takeNode('lock', bytes, view, at, end, into);
        return;
      case RecordType.queueNode:
        takeNode('queueNode', bytes, view, at, end, into);
        return;
      case RecordType.freeSlots:
        wellFormed((end - at) % 4 === 0 && end - at <= MAX_FREE_SLOTS * 4, () => `has ${end - at} bytes of free slots`);
        for (let position = at; position < end; position += 4)
          into.freeSlot(view.getUint32(position, true) as NodeSlot);
        return;
      case RecordType.end:
        wellFormed(end - at === 8, () => 'has a malformed end');
        into.end(readIndex(view, at, 'number of records'));
        return;
      case RecordType.feature:
        wellFormed(end - at >= FEATURE_BYTES, () => 'ends within a feature');
        into.feature({
          number: view.getUint16(at, true),
          required: view.getUint8(at + 2) !== 0,
          name: readText(bytes, at + FEATURE_BYTES, end),
        });
        return;
      case RecordType.nodeExtra:
        wellFormed(end - at >= NODE_EXTRA_BYTES, () => 'ends within an extra');
        into.extra(view.getUint32(at, true) as NodeSlot, {
          tag: view.getUint16(at + 4, true),
          bytes: bytes.subarray(at + NODE_EXTRA_BYTES, end),
        });
        return;
      default:
        throw malformed(`has a record of the unknown type ${type}`);
    }
  },
};

function takeNode(
  type: NodeRole['type'],
  bytes: Uint8Array,
  view: DataView,
  at: number,
  end: number,
  into: SnapshotSink,
): void {
  const { role, at: from } = readRole(type, view, at, end);
  readNode(bytes, view, from, end, image);
  into.node(view.getUint32(from, true) as NodeSlot, role, image);
}

function readHeader(view: DataView, at: number, latest: number): SnapshotHeader {
  const version = view.getUint32(at + 12, true);
  if (version > latest) throw new SnapshotError('UNSUPPORTED', `has state version ${version}, over ${latest}`);
  wellFormed(version >= FIRST_STATE_VERSION, () => `has state version ${version}`);
  return {
    version,
    features: view.getUint32(at + 8, true),
    index: readIndex(view, at + 16, 'index'),
    stamp: readIndex(view, at + 24, 'stamp'),
    digest: { low: view.getInt32(at + 32, true), high: view.getInt32(at + 36, true) },
    counts: {
      sessions: readIndex(view, at + 40, 'number of sessions'),
      nodes: readIndex(view, at + 48, 'number of nodes'),
      dataBytes: readIndex(view, at + 56, 'bytes of data'),
      locks: readIndex(view, at + 64, 'number of locks'),
      holds: readIndex(view, at + 72, 'number of holds'),
      waits: readIndex(view, at + 80, 'number of waits'),
      nameBytes: readIndex(view, at + 96, 'bytes of names'),
    },
    slots: readIndex(view, at + 88, 'number of slots'),
  };
}
