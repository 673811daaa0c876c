/**
 * What lockd's of one ensemble say to each other beside Raft, as application messages of the replica. A payload is a list of
 * messages: all that one server has to say to another in one turn.
 *
 *   forward → forward-refused      entries for the leader to propose; silence means that they were proposed
 *   keep-alive → keep-alive-ack    sessions renewed; answered once a quorum has confirmed the leader
 *   read-index → read-index-answer where a linearizable read must have been applied
 *   state-digest                   the state digest at an index, for the leader to compare
 *   diverged, halted               what the comparison has shown
 *   disk-report → disk-shortage    whether the sender's disk is almost full; for whose disk the leader refuses writes
 *   admin → admin-answer           what an operator asks for, for the leader. Only to a peer that offers the feature
 *   lost                           the receiver's connection to the sender has closed: what it had said may be lost
 */

import { adminAnswers, adminOperations, pack, unpackTuple } from '@holdfast/protocol';
import { bytes, flag, integer, knownErrorCode, list, message, messages, type ValueOf } from '@holdfast/protocol/schema';
import { MAX_COMMAND_BYTES } from '../limits.ts';

const ENTRY_OVERHEAD_BYTES = 256;

const entries = list(bytes(MAX_COMMAND_BYTES + ENTRY_OVERHEAD_BYTES), 'entry');
const sessions = list(integer(), 'session');

export const peerMessages = messages('peer message', {
  /** `epoch` tells the sender's own series of forwards apart; a refusal of an earlier series means nothing any more. */
  forward: message(1, { epoch: integer(), entries }),
  'forward-refused': message(2, { epoch: integer(), code: knownErrorCode() }),
  'keep-alive': message(3, { batch: integer(), sessions }),
  /** `except`: sessions that are unknown or about to expire, and so not renewed. */
  'keep-alive-ack': message(4, { batch: integer(), except: sessions }),
  'read-index': message(5, { batch: integer() }),
  /** `index` 0: refused. */
  'read-index-answer': message(6, { batch: integer(), index: integer() }),
  'state-digest': message(7, { index: integer(), digest: integer() }),
  /** The majority has another digest than the receiver at that index: the receiver stops. */
  diverged: message(8, { index: integer(), digest: integer() }),
  /** No majority has the same digest at that index: everyone refuses writes. */
  halted: message(9, { index: integer() }),
  lost: message(10, {}),
  'disk-report': message(11, { low: flag() }),
  /** `server` 0: writes are accepted. */
  'disk-shortage': message(12, { server: integer() }),
  /** `request` is the sender's number for it. */
  admin: message(13, { request: integer(), operation: adminOperations }),
  'admin-answer': message(14, { request: integer(), answer: adminAnswers }),
});

export type PeerMessage = ValueOf<typeof peerMessages>;

export const PEER_MESSAGE_TYPES = Object.keys(peerMessages.numbers) as readonly PeerMessage['type'][];

export function encodePeerMessages(list: readonly PeerMessage[]): Uint8Array {
  return pack(list.map((each) => peerMessages.writeTuple(each)));
}

/** Messages of types that this version does not know are left out. Entries are views of `payload`. @throws MalformedError */
export function decodePeerMessages(payload: Uint8Array): PeerMessage[] {
  const list = unpackTuple(payload, 'peer');
  const found: PeerMessage[] = [];
  while (list.remaining > 0) {
    const known = peerMessages.readKnown(list.tuple('message'));
    if (known !== undefined) found.push(known);
  }
  return found;
}
