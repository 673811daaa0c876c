/**
 * What two servers say on a connection for a snapshot: the sender's offer, the place from which the receiver wants it, the pieces and
 * their acknowledgements, the end, and that everything is installed or why not. docs/formats.md has the table.
 */

import { MalformedError, pack, unpackTuple } from '@holdfast/protocol';
import { MAX_SNAPSHOT_HEADER_BYTES, MAX_SNAPSHOT_CHUNK_BYTES } from '../log-store/snapshots/snapshot-format.ts';
import { checkedConfiguration } from '../peers/peer-codec.ts';
import { logIndex, term, type LogIndex, type Term } from '../core/index.ts';

export interface SnapshotOffer {
  readonly type: 'offer';
  /** In which the sender leads. */
  readonly leaderTerm: Term;
  /** The sender's log has everything behind that index. */
  readonly logBase: LogIndex;
  readonly index: LogIndex;
  readonly term: Term;
  readonly bytes: number;
  /** Of all bytes: two snapshots of one position may differ in their bytes. */
  readonly crc: number;
  readonly configuration: Uint8Array;
}

export type SnapshotMessage =
  | SnapshotOffer
  /** Begin here: what comes before is there already. */
  | { readonly type: 'resume'; readonly offset: number }
  | { readonly type: 'chunk'; readonly offset: number; readonly data: Uint8Array }
  /** Everything before `offset` has been written. */
  | { readonly type: 'written'; readonly offset: number }
  | { readonly type: 'end' }
  /** Everything up to `index` is durable at the receiver. */
  | { readonly type: 'installed'; readonly index: LogIndex }
  /** Not now. */
  | { readonly type: 'refused'; readonly reason: string };

const Type = { offer: 1, resume: 2, chunk: 3, written: 4, end: 5, installed: 6, refused: 7 } as const;
const MAX_REASON_LENGTH = 300;

export function encodeSnapshotMessage(message: SnapshotMessage): Uint8Array {
  const type = Type[message.type];
  switch (message.type) {
    case 'offer': {
      const { leaderTerm, logBase, index, bytes, crc, configuration } = message;
      return pack([type, leaderTerm, logBase, index, message.term, bytes, crc, configuration]);
    }
    case 'resume':
    case 'written':
      return pack([type, message.offset]);
    case 'chunk':
      return pack([type, message.offset, message.data]);
    case 'end':
      return pack([type]);
    case 'installed':
      return pack([type, message.index]);
    case 'refused':
      return pack([type, message.reason.slice(0, MAX_REASON_LENGTH)]);
  }
}

/** The bytes are views of the frame. @throws MalformedError */
export function decodeSnapshotMessage(frame: Uint8Array): SnapshotMessage {
  const reader = unpackTuple(frame, 'snapshot message');
  const type = reader.integer('type');
  switch (type) {
    case Type.offer:
      return {
        type: 'offer',
        leaderTerm: term(reader.integer('leaderTerm')),
        logBase: logIndex(reader.integer('logBase')),
        index: logIndex(reader.integer('index')),
        term: term(reader.integer('term')),
        bytes: reader.integer('bytes'),
        crc: reader.integer('crc'),
        configuration: checkedConfiguration(reader.bytes('configuration', MAX_SNAPSHOT_HEADER_BYTES)),
      };
    case Type.resume:
      return { type: 'resume', offset: reader.integer('offset') };
    case Type.chunk:
      return {
        type: 'chunk',
        offset: reader.integer('offset'),
        data: reader.bytes('data', MAX_SNAPSHOT_CHUNK_BYTES),
      };
    case Type.written:
      return { type: 'written', offset: reader.integer('offset') };
    case Type.end:
      return { type: 'end' };
    case Type.installed:
      return { type: 'installed', index: logIndex(reader.integer('index')) };
    case Type.refused:
      return { type: 'refused', reason: reader.string('reason', MAX_REASON_LENGTH) };
    default:
      throw new MalformedError(`snapshot message type ${type} is unknown`);
  }
}
