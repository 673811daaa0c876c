/**
 * What lockd's of one ensemble say to each other beside Raft, as application messages of the replica. A payload is a list of
 * messages: all that one server has to say to another in one turn.
 *
 *   forward → forward-refused      entries for the leader to propose; silence means that they were proposed
 *   touch → touched                sessions renewed; answered once a quorum has confirmed the leader
 *   read-index → read-index-answer where a linearizable read must have been applied
 *   fold                           the state's fold at an index, for the leader to compare
 *   diverged, halted               what the comparison has shown
 *   disk-report → disk-shortage    whether the sender's disk is almost full; for whose disk the leader refuses writes
 *   transfer → transfer-answer     an operator's wish, for the leader. Only to a peer that offers the feature
 *   admin → admin-answer             an operator's wish about the members, for the leader. Only to a peer that offers the feature
 *   lost                           the receiver's connection to the sender has closed: what it had said may be lost
 */

import {
  MAX_MEMBER_BYTES,
  MAX_MESSAGE_LENGTH,
  MalformedError,
  adminAnswerToTuple,
  adminOperationToTuple,
  errorCodeFromWire,
  errorCodeToWire,
  pack,
  readAdminAnswer,
  readAdminOperation,
  unpackTuple,
  type AdminAnswer,
  type AdminOperation,
  type ErrorCode,
  type Packable,
  type TupleReader,
} from '@holdfast/protocol';
import { MAX_COMMAND_BYTES } from '../limits.ts';

export type PeerMessage =
  /** `epoch` tells the sender's own series of forwards apart; a refusal of an earlier series means nothing any more. */
  | { readonly type: 'forward'; readonly epoch: number; readonly entries: readonly Uint8Array[] }
  | { readonly type: 'forward-refused'; readonly epoch: number; readonly code: ErrorCode }
  | { readonly type: 'touch'; readonly batch: number; readonly sessions: readonly number[] }
  /** `except`: sessions that are unknown or about to expire, and so not renewed. */
  | { readonly type: 'touched'; readonly batch: number; readonly except: readonly number[] }
  | { readonly type: 'read-index'; readonly batch: number }
  /** `index` 0: refused. */
  | { readonly type: 'read-index-answer'; readonly batch: number; readonly index: number }
  | { readonly type: 'fold'; readonly index: number; readonly fold: number }
  /** The majority has another fold than the receiver at that index: the receiver stops. */
  | { readonly type: 'diverged'; readonly index: number; readonly fold: number }
  /** No majority has the same fold at that index: everyone refuses writes. */
  | { readonly type: 'halted'; readonly index: number }
  | { readonly type: 'lost' }
  | { readonly type: 'disk-report'; readonly low: boolean }
  /** `server` 0: writes are accepted. */
  | { readonly type: 'disk-shortage'; readonly server: number }
  /** `wish` is the sender's number for it; `server` 0: the best follower. */
  | { readonly type: 'transfer'; readonly wish: number; readonly server: number }
  | { readonly type: 'transfer-answer'; readonly wish: number; readonly answer: AdminAnswer }
  | { readonly type: 'admin'; readonly wish: number; readonly operation: AdminOperation }
  | { readonly type: 'admin-answer'; readonly wish: number; readonly answer: AdminAnswer };

const PeerType = {
  forward: 1,
  'forward-refused': 2,
  touch: 3,
  touched: 4,
  'read-index': 5,
  'read-index-answer': 6,
  fold: 7,
  diverged: 8,
  halted: 9,
  lost: 10,
  'disk-report': 11,
  'disk-shortage': 12,
  transfer: 13,
  'transfer-answer': 14,
  admin: 15,
  'admin-answer': 16,
} as const;

const ENTRY_OVERHEAD_BYTES = 256;

export function encodePeerMessages(messages: readonly PeerMessage[]): Uint8Array {
  return pack(messages.map(messageToTuple));
}

/** Messages of types that this version does not know are left out. Entries are views of `payload`. @throws MalformedError */
export function decodePeerMessages(payload: Uint8Array): PeerMessage[] {
  const list = unpackTuple(payload, 'peer');
  const messages: PeerMessage[] = [];
  while (list.remaining > 0) {
    const message = readMessage(list.tuple('message'));
    if (message !== undefined) messages.push(message);
  }
  return messages;
}

/** About how many bytes the message takes; exact enough to keep payloads near their limit. */
export function peerMessageBytes(message: PeerMessage): number {
  switch (message.type) {
    case 'forward':
      return message.entries.reduce((sum, entry) => sum + entry.length + 8, 32);
    case 'touch':
      return 32 + 9 * message.sessions.length;
    case 'touched':
      return 32 + 9 * message.except.length;
    case 'forward-refused':
    case 'read-index':
    case 'read-index-answer':
    case 'fold':
    case 'diverged':
    case 'halted':
    case 'lost':
    case 'disk-report':
    case 'disk-shortage':
    case 'transfer':
      return 32;
    case 'admin':
      return 64 + MAX_MEMBER_BYTES;
    case 'transfer-answer':
    case 'admin-answer':
      return 64 + adminAnswerBytes(message.answer);
  }
}

function adminAnswerBytes(answer: AdminAnswer): number {
  switch (answer.type) {
    case 'error':
      return 3 * Math.min(answer.message.length, MAX_MESSAGE_LENGTH);
    case 'transferred':
      return 0;
    case 'members':
      return answer.members.length * MAX_MEMBER_BYTES;
  }
}

function messageToTuple(message: PeerMessage): Packable[] {
  const type = PeerType[message.type];
  switch (message.type) {
    case 'forward':
      return [type, message.epoch, message.entries];
    case 'forward-refused':
      return [type, message.epoch, errorCodeToWire(message.code)];
    case 'touch':
      return [type, message.batch, message.sessions];
    case 'touched':
      return [type, message.batch, message.except];
    case 'read-index':
      return [type, message.batch];
    case 'read-index-answer':
      return [type, message.batch, message.index];
    case 'fold':
    case 'diverged':
      return [type, message.index, message.fold];
    case 'halted':
      return [type, message.index];
    case 'lost':
      return [type];
    case 'disk-report':
      return [type, message.low];
    case 'disk-shortage':
      return [type, message.server];
    case 'transfer':
      return [type, message.wish, message.server];
    case 'admin':
      return [type, message.wish, adminOperationToTuple(message.operation)];
    case 'transfer-answer':
    case 'admin-answer':
      return [type, message.wish, adminAnswerToTuple(message.answer)];
  }
}

function readMessage(reader: TupleReader): PeerMessage | undefined {
  const type = reader.integer('type');
  switch (type) {
    case PeerType.forward:
      return { type: 'forward', epoch: reader.integer('epoch'), entries: reader.fields('entries', readEntry) };
    case PeerType['forward-refused']:
      return { type: 'forward-refused', epoch: reader.integer('epoch'), code: readCode(reader) };
    case PeerType.touch:
      return { type: 'touch', batch: reader.integer('batch'), sessions: reader.fields('sessions', readSession) };
    case PeerType.touched:
      return { type: 'touched', batch: reader.integer('batch'), except: reader.fields('except', readSession) };
    case PeerType['read-index']:
      return { type: 'read-index', batch: reader.integer('batch') };
    case PeerType['read-index-answer']:
      return { type: 'read-index-answer', batch: reader.integer('batch'), index: reader.integer('index') };
    case PeerType.fold:
      return { type: 'fold', index: reader.integer('index'), fold: reader.integer('fold') };
    case PeerType.diverged:
      return { type: 'diverged', index: reader.integer('index'), fold: reader.integer('fold') };
    case PeerType.halted:
      return { type: 'halted', index: reader.integer('index') };
    case PeerType.lost:
      return { type: 'lost' };
    case PeerType['disk-report']:
      return { type: 'disk-report', low: reader.boolean('low') };
    case PeerType['disk-shortage']:
      return { type: 'disk-shortage', server: reader.integer('server') };
    case PeerType.transfer:
      return { type: 'transfer', wish: reader.integer('wish'), server: reader.integer('server') };
    case PeerType.admin: {
      const wish = reader.integer('wish');
      return { type: 'admin', wish, operation: readAdminOperation(reader.tuple('operation')) };
    }
    case PeerType['admin-answer']: {
      const wish = reader.integer('wish');
      return { type: 'admin-answer', wish, answer: readAdminAnswer(reader.tuple('answer')) };
    }
    case PeerType['transfer-answer']: {
      const wish = reader.integer('wish');
      return { type: 'transfer-answer', wish, answer: readAdminAnswer(reader.tuple('answer')) };
    }
    default:
      return undefined;
  }
}

function readEntry(reader: TupleReader): Uint8Array {
  return reader.bytes('entry', MAX_COMMAND_BYTES + ENTRY_OVERHEAD_BYTES);
}

function readSession(reader: TupleReader): number {
  return reader.integer('session');
}

function readCode(reader: TupleReader): ErrorCode {
  const wire = reader.integer('code');
  const code = errorCodeFromWire(wire);
  if (code === undefined) throw new MalformedError(`peer.code ${wire} is unknown`);
  return code;
}
