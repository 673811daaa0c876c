/**
 * What two servers say on a connection for a snapshot: the sender's offer, the place from which the receiver wants it, the pieces and
 * their acknowledgements, the end, and that everything is installed or why not.
 */

import { pack, unpackTuple } from '@holdfast/protocol';
import { bytes, cutText, integer, message, messages, type ValueOf } from '@holdfast/protocol/schema';

import { MAX_SNAPSHOT_CHUNK_BYTES, MAX_SNAPSHOT_HEADER_BYTES } from '../log-store/snapshots/snapshot-format.ts';
import { configurationBytes, indexField, termField } from '../peers/raft-fields.ts';

const MAX_REASON_LENGTH = 300;

export const snapshotMessages = messages('snapshot message', {
  /**
   * The sender leads in `leaderTerm`, and its log has everything behind `logBase`. `crc` is of all bytes: two snapshots of one position may
   * differ in their bytes.
   */
  offer: message(1, {
    leaderTerm: termField,
    logBase: indexField,
    index: indexField,
    term: termField,
    bytes: integer(),
    crc: integer(),
    configuration: configurationBytes(MAX_SNAPSHOT_HEADER_BYTES),
  }),
  /** Begin here: what comes before is there already. */
  resume: message(2, { offset: integer() }),
  chunk: message(3, { offset: integer(), data: bytes(MAX_SNAPSHOT_CHUNK_BYTES) }),
  /** Everything before `offset` has been written. */
  written: message(4, { offset: integer() }),
  end: message(5, {}),
  /** Everything up to `index` is durable at the receiver. */
  installed: message(6, { index: indexField }),
  /** Not now. */
  refused: message(7, { reason: cutText(MAX_REASON_LENGTH) }),
});

export type SnapshotMessage = ValueOf<typeof snapshotMessages>;
export type SnapshotOffer = Extract<SnapshotMessage, { readonly type: 'offer' }>;

export function encodeSnapshotMessage(value: SnapshotMessage): Uint8Array {
  return pack(snapshotMessages.writeTuple(value));
}

/** The bytes are views of the frame. @throws MalformedError */
export function decodeSnapshotMessage(frame: Uint8Array): SnapshotMessage {
  return snapshotMessages.readTuple(unpackTuple(frame, 'snapshot message'));
}
