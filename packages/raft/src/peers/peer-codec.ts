/**
 * What servers say to each other: frames, once they have greeted each other (greeting-codec.ts). A frame is a list of items, all of one
 * turn: Raft messages, and byte strings of the replicated machine. docs/formats.md has the tables.
 */

import { MalformedError, unpackTuple, type Packable, type TupleReader } from '@holdfast/protocol';
import { EntryType, logIndex, nextIndex, serverId, term, type Message, type ServerId } from '../core/index.ts';
import { decodeEntries, encodeEntries } from '../log-store/format/entry-block.ts';
import { checkedConfiguration } from './raft-fields.ts';

/** One frame between servers: appends to the bound of one message, and the items beside them. */
export const MAX_PEER_FRAME_BYTES = 16 * 1024 * 1024;

export type PeerItem =
  | { readonly type: 'raft'; readonly message: Message }
  | { readonly type: 'machine'; readonly payload: Uint8Array }
  /** A server that was removed is back and knocks at the sender's door: the receiver tells it, too. */
  | { readonly type: 'knock'; readonly server: ServerId };

const MACHINE_ITEM = 0;
const KNOCK_ITEM = 11;
const MessageType = {
  'pre-vote': 1,
  'pre-vote-response': 2,
  vote: 3,
  'vote-response': 4,
  append: 5,
  'append-response': 6,
  heartbeat: 7,
  'heartbeat-response': 8,
  commit: 9,
  'timeout-now': 10,
} as const satisfies Record<Message['type'], number>;

/** The tuple of one item; a frame is a list of them. */
export function machineItem(payload: Uint8Array): Packable {
  return [MACHINE_ITEM, payload];
}

export function knockItem(server: ServerId): Packable {
  return [KNOCK_ITEM, server];
}

export function raftItem(message: Message): Packable {
  const type = MessageType[message.type];
  switch (message.type) {
    case 'pre-vote':
      return [type, message.term, message.lastIndex, message.lastTerm];
    case 'pre-vote-response':
      return [type, message.term, message.askedTerm, message.granted];
    case 'vote':
      return [type, message.term, message.lastIndex, message.lastTerm, message.transfer];
    case 'vote-response':
      return [type, message.term, message.granted];
    case 'append':
      return [
        type,
        message.term,
        message.prevIndex,
        message.prevTerm,
        message.commit,
        message.entries.length === 0 ? NO_BYTES : encodeEntries(message.entries),
      ];
    case 'append-response':
      return [
        type,
        message.term,
        message.accepted,
        message.index,
        message.hintTerm,
        message.refusedIndex,
        message.eagerCommit,
      ];
    case 'heartbeat':
      return [type, message.term, message.commit, message.round];
    case 'heartbeat-response':
      return [type, message.term, message.round, message.eagerCommit];
    case 'commit':
      return [type, message.term, message.commit];
    case 'timeout-now':
      return [type, message.term];
  }
}

const NO_BYTES = new Uint8Array(0);

/** @throws MalformedError */
export function decodePeerFrame(frame: Uint8Array): PeerItem[] {
  const items: PeerItem[] = [];
  const list = unpackTuple(frame, 'frame');
  while (list.remaining > 0) {
    const reader = list.tuple('item');
    const type = reader.integer('type');
    if (type === MACHINE_ITEM) items.push({ type: 'machine', payload: reader.bytes('payload', MAX_PEER_FRAME_BYTES) });
    else if (type === KNOCK_ITEM) items.push({ type: 'knock', server: serverId(reader.integer('server')) });
    else items.push({ type: 'raft', message: readMessage(type, reader) });
  }
  return items;
}

function readMessage(type: number, reader: TupleReader): Message {
  const messageTerm = term(reader.integer('term'));
  const index = (name: string) => logIndex(reader.integer(name));
  switch (type) {
    case MessageType['pre-vote']:
      return {
        type: 'pre-vote',
        term: messageTerm,
        lastIndex: index('lastIndex'),
        lastTerm: term(reader.integer('lastTerm')),
      };
    case MessageType['pre-vote-response']:
      return {
        type: 'pre-vote-response',
        term: messageTerm,
        askedTerm: term(reader.integer('askedTerm')),
        granted: reader.boolean('granted'),
      };
    case MessageType.vote:
      return {
        type: 'vote',
        term: messageTerm,
        lastIndex: index('lastIndex'),
        lastTerm: term(reader.integer('lastTerm')),
        transfer: reader.boolean('transfer'),
      };
    case MessageType['vote-response']:
      return { type: 'vote-response', term: messageTerm, granted: reader.boolean('granted') };
    case MessageType.append: {
      const prevIndex = index('prevIndex');
      const prevTerm = term(reader.integer('prevTerm'));
      const commit = index('commit');
      const block = reader.bytes('entries', MAX_PEER_FRAME_BYTES);
      const entries = block.length === 0 ? [] : decodeEntries(block, nextIndex(prevIndex));
      for (const entry of entries) if (entry.type === EntryType.configuration) checkedConfiguration(entry.data);
      return { type: 'append', term: messageTerm, prevIndex, prevTerm, commit, entries };
    }
    case MessageType['append-response']:
      return {
        type: 'append-response',
        term: messageTerm,
        accepted: reader.boolean('accepted'),
        index: index('index'),
        hintTerm: term(reader.integer('hintTerm')),
        refusedIndex: index('refusedIndex'),
        eagerCommit: reader.boolean('eagerCommit'),
      };
    case MessageType.heartbeat:
      return { type: 'heartbeat', term: messageTerm, commit: index('commit'), round: reader.integer('round') };
    case MessageType['heartbeat-response']:
      return {
        type: 'heartbeat-response',
        term: messageTerm,
        round: reader.integer('round'),
        eagerCommit: reader.boolean('eagerCommit'),
      };
    case MessageType.commit:
      return { type: 'commit', term: messageTerm, commit: index('commit') };
    case MessageType['timeout-now']:
      return { type: 'timeout-now', term: messageTerm };
    default:
      throw new MalformedError(`peer message type ${type} is unknown`);
  }
}
