/**
 * What servers say to each other: frames, once they have greeted each other (greeting-codec.ts). A frame is a list of items, all of one
 * turn: Raft messages, and byte strings of the replicated machine.
 */

import { unpackTuple, type Packable } from '@holdfast/protocol';
import { bytes, flag, integer, message, messages, type ValueOf } from '@holdfast/protocol/schema';

import type { Message } from '../core/index.ts';
import { entriesAfter, indexField, serverField, termField } from './raft-fields.ts';

/** One frame between servers: appends to the bound of one message, and the items beside them. */
export const MAX_PEER_FRAME_BYTES = 16 * 1024 * 1024;

export const peerItems = messages('item', {
  /** Bytes of the replicated machine, a view of the frame. */
  machine: message(0, { payload: bytes(MAX_PEER_FRAME_BYTES) }),
  'pre-vote': message(1, { term: termField, lastIndex: indexField, lastTerm: termField }),
  'pre-vote-response': message(2, { term: termField, askedTerm: termField, granted: flag() }),
  vote: message(3, { term: termField, lastIndex: indexField, lastTerm: termField, transfer: flag() }),
  'vote-response': message(4, { term: termField, granted: flag() }),
  append: message(5, {
    term: termField,
    prevIndex: indexField,
    prevTerm: termField,
    commit: indexField,
    entries: entriesAfter('prevIndex', MAX_PEER_FRAME_BYTES),
  }),
  'append-response': message(6, {
    term: termField,
    accepted: flag(),
    index: indexField,
    hintTerm: termField,
    refusedIndex: indexField,
    eagerCommit: flag(),
  }),
  heartbeat: message(7, { term: termField, commit: indexField, round: integer() }),
  'heartbeat-response': message(8, { term: termField, round: integer(), eagerCommit: flag() }),
  commit: message(9, { term: termField, commit: indexField }),
  'timeout-now': message(10, { term: termField }),
  /** A server that was removed is back, and its proof holds: it dials the sender, and the receiver is to notify it, too. */
  knock: message(11, { server: serverField }),
});

export type PeerItem = ValueOf<typeof peerItems>;

/**
 * The core imports nothing, so it declares its messages itself. This line compiles only while they are those that are declared here:
 * neither has a message, a field or a type of field that the other has not.
 */
true satisfies Same<Message, Exclude<PeerItem, { readonly type: 'machine' | 'knock' }>>;

/** The compiler takes two types for the same in an undecided condition only if they are. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** The tuple of one item; a frame is a list of them. */
export function peerItem(item: PeerItem): Packable {
  return peerItems.writeTuple(item);
}

/** What the items hold of bytes are views of the frame. @throws MalformedError */
export function decodePeerFrame(frame: Uint8Array): PeerItem[] {
  const items: PeerItem[] = [];
  const list = unpackTuple(frame, 'frame');
  while (list.remaining > 0) items.push(peerItems.readTuple(list.tuple('item')));
  return items;
}
