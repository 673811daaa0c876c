/**
 * The messages between an SDK and a server. A frame is a list of messages: all that one side has to say to the other in one turn
 * of its event loop.
 *
 *   hello → welcome                     once a connection, first
 *   attach → attached (or its error)    binds the connection to a session
 *   request → reply                     commands, by request number; effects in number order, replies in any
 *   read → answer                       queries, by read id; allowed without a session
 *   heartbeat → renewed                 the session is renewed: acknowledged after a quorum round
 *   ping → pong                         the connection lives; promises nothing about the session
 *   admin → admin-answer                an operator's wish; allowed without a session
 *   granted, lost, ended, resend, leader, leave, goodbye   pushed by the server
 */

import { adminAnswerToTuple, adminOperationToTuple, readAdminAnswer, readAdminOperation } from './admin.ts';
import type { AdminAnswer, AdminOperation } from './admin.ts';
import type { ErrorCode } from './error-code.ts';
import { errorCodeFromWire, errorCodeToWire } from './error-code.ts';
import { NO_FEATURES, type FeatureSet } from './features.ts';
import { CONSISTENCIES, answerToTuple, queryToTuple, readAnswer, readQuery } from './query.ts';
import type { Answer, Consistency, Query } from './query.ts';
import { MAX_FRAME_BYTES, MAX_FRAME_MESSAGES, MAX_LOCK_NAME_LENGTH, MAX_MESSAGE_LENGTH } from './limits.ts';
import { MalformedError } from './malformed-error.ts';
import { pack, unpackTuple, type Packable, type TupleReader } from './pack.ts';
import { readReply, replyToTuple, type Reply } from './reply.ts';

export interface Member {
  readonly server: number;
  /** `host:port` for clients; empty while unknown. */
  readonly clientAddress: string;
}

export type ClientMessage =
  /**
   * `features`: offered; `required`: the server must know them. `clusterId` empty: any cluster. `withoutLeader`: this client reads what
   * the server has, also where no leader is known, and makes no session on the connection; false if missing.
   */
  | {
      readonly type: 'hello';
      readonly version: number;
      readonly features: FeatureSet;
      readonly clusterId: string;
      readonly required: FeatureSet;
      readonly withoutLeader?: boolean;
    }
  /** `payload` is an attach request; `id` is the client's choice and comes back. */
  | { readonly type: 'attach'; readonly id: number; readonly payload: Uint8Array }
  | {
      readonly type: 'request';
      /** 1 for a session's first, then without gaps. */
      readonly number: number;
      /** Every request up to here has been answered, and the answer has arrived. */
      readonly ackedUpTo: number;
      readonly command: number;
      readonly payload: Uint8Array;
    }
  | {
      readonly type: 'read';
      readonly id: number;
      readonly consistency: Consistency;
      /** For `session`: the highest index that the client has seen. */
      readonly minIndex: number;
      readonly query: Query;
    }
  | { readonly type: 'heartbeat'; readonly id: number }
  | { readonly type: 'ping'; readonly id: number }
  /** Only to a server that offers the feature. `id` is of the same series as that of reads. */
  | { readonly type: 'admin'; readonly id: number; readonly operation: AdminOperation };

export type LossReason = 'expired' | 'revoked' | 'closed';
const LOSS_REASONS = ['expired', 'revoked', 'closed'] as const satisfies readonly LossReason[];

export type ServerMessage =
  | {
      readonly type: 'welcome';
      readonly version: number;
      /** Offered. */
      readonly features: FeatureSet;
      readonly clusterId: string;
      readonly server: number;
      /** 0 while no leader is known. */
      readonly leader: number;
      readonly members: readonly Member[];
      /** The client must know them. */
      readonly required: FeatureSet;
      /** The term that this server is in; 0 from one that does not tell. */
      readonly term: number;
      /** Over so long should clients spread their first dials when they lose this server all at once. */
      readonly spreadMs: number;
    }
  /** The outcome of attach. */
  | { readonly type: 'attached'; readonly id: number; readonly index: number; readonly reply: Reply }
  /** `index` is that of the entry that answered, which for a retry is a later one than that which took effect. */
  | { readonly type: 'reply'; readonly number: number; readonly index: number; readonly reply: Reply }
  | { readonly type: 'answer'; readonly id: number; readonly index: number; readonly answer: Answer }
  | { readonly type: 'renewed'; readonly id: number }
  | { readonly type: 'pong'; readonly id: number }
  /** A wait has become a hold. */
  | {
      readonly type: 'granted';
      readonly index: number;
      readonly lock: string;
      readonly acquireIndex: number;
      readonly token: number;
    }
  /** A hold or a wait is gone and its session is not: somebody deleted its node. */
  | {
      readonly type: 'lost';
      readonly index: number;
      readonly lock: string;
      readonly acquireIndex: number;
      readonly reason: LossReason;
    }
  /** The session of this connection is over. */
  | { readonly type: 'ended'; readonly index: number; readonly reason: LossReason }
  /**
   * Requests from number `from` on were not applied, or may not have been: send every unanswered one again, in order. The only
   * way in which a request is refused without using up its number; a `reply` always comes from the applied entry.
   */
  | { readonly type: 'resend'; readonly from: number; readonly code: ErrorCode }
  /** Pushed when one of these changes: `term` and `spreadMs` are as in `welcome`. */
  | {
      readonly type: 'leader';
      readonly leader: number;
      readonly members: readonly Member[];
      readonly term: number;
      readonly spreadMs: number;
    }
  /** The server is about to stop and serves until then: move to another. Only to clients that offer the feature. */
  | { readonly type: 'leave' }
  | { readonly type: 'admin-answer'; readonly id: number; readonly answer: AdminAnswer }
  /** The server closes the connection after this frame. `againInMs`: it takes this client then, and not before. */
  | { readonly type: 'goodbye'; readonly code: ErrorCode; readonly message: string; readonly againInMs?: number };

const ClientType = { hello: 1, attach: 2, request: 3, read: 4, heartbeat: 5, ping: 6, admin: 7 } as const;
const ServerType = {
  welcome: 1,
  attached: 2,
  reply: 3,
  answer: 4,
  renewed: 5,
  pong: 6,
  granted: 7,
  lost: 8,
  ended: 9,
  resend: 10,
  leader: 11,
  goodbye: 12,
  leave: 13,
  'admin-answer': 14,
} as const;

const MAX_ADDRESS_LENGTH = 300;
const MAX_CLUSTER_ID_LENGTH = 100;

export function encodeClientFrame(messages: readonly ClientMessage[]): Uint8Array {
  return pack(messages.map(clientMessageToTuple));
}

/** @throws MalformedError */
export function decodeClientFrame(frame: Uint8Array): ClientMessage[] {
  return readFrame(frame, readClientMessage, MAX_FRAME_MESSAGES);
}

/** A client's frame whose messages are decoded one by one: to decode all that one may hold takes its time. */
export class ClientFrame {
  readonly #frame: Uint8Array;
  readonly #list: TupleReader;
  #read = 0;

  /** @throws MalformedError unless the frame is well-formed as a whole, whatever its messages are */
  constructor(frame: Uint8Array) {
    this.#frame = frame;
    this.#list = openFrame(frame, MAX_FRAME_MESSAGES);
  }

  get bytes(): number {
    return this.#frame.length;
  }

  /** Messages that have not been decoded. */
  get remaining(): number {
    return this.#list.remaining;
  }

  /** @throws MalformedError */
  next(): ClientMessage {
    this.#read += 1;
    return readClientMessage(this.#list.tuple('message'));
  }

  /** What has not been decoded, with memory of its own. */
  copy(): ClientFrame {
    const copy = new ClientFrame(this.#frame.slice());
    for (; copy.#read < this.#read; copy.#read += 1) copy.#list.tuple('message');
    return copy;
  }
}

export function encodeServerFrame(messages: readonly ServerMessage[]): Uint8Array {
  return pack(messages.map(serverMessageToTuple));
}

/** Messages of types that this version does not know are left out. @throws MalformedError */
export function decodeServerFrame(frame: Uint8Array): ServerMessage[] {
  return readFrame(frame, readServerMessage).filter((message) => message !== undefined);
}

function openFrame(frame: Uint8Array, maxMessages: number): TupleReader {
  if (frame.length > MAX_FRAME_BYTES)
    throw new MalformedError(`a frame of ${frame.length} bytes is over ${MAX_FRAME_BYTES}`);
  const list = unpackTuple(frame, 'frame');
  if (list.remaining > maxMessages)
    throw new MalformedError(`a frame of ${list.remaining} messages is over ${maxMessages}; split it`);
  return list;
}

function readFrame<T>(frame: Uint8Array, read: (reader: TupleReader) => T, maxMessages = Infinity): T[] {
  const messages: T[] = [];
  const list = openFrame(frame, maxMessages);
  while (list.remaining > 0) messages.push(read(list.tuple('message')));
  return messages;
}

function clientMessageToTuple(message: ClientMessage): Packable[] {
  const type = ClientType[message.type];
  switch (message.type) {
    case 'hello':
      return [
        type,
        message.version,
        message.features,
        message.clusterId,
        message.required,
        message.withoutLeader ?? false,
      ];
    case 'attach':
      return [type, message.id, message.payload];
    case 'request':
      return [type, message.number, message.ackedUpTo, message.command, message.payload];
    case 'read':
      return [
        type,
        message.id,
        CONSISTENCIES.indexOf(message.consistency),
        message.minIndex,
        queryToTuple(message.query),
      ];
    case 'heartbeat':
    case 'ping':
      return [type, message.id];
    case 'admin':
      return [type, message.id, adminOperationToTuple(message.operation)];
  }
}

/** Absent in the first release. */
function readRequired(reader: TupleReader): FeatureSet {
  return reader.remaining > 0 ? reader.integer('required') : NO_FEATURES;
}

/** A number that was appended to a message later; 0 where it is absent. */
function readLater(reader: TupleReader, field: string): number {
  return reader.remaining > 0 ? reader.integer(field) : 0;
}

function readClientMessage(reader: TupleReader): ClientMessage {
  const type = reader.integer('type');
  switch (type) {
    case ClientType.hello:
      return {
        type: 'hello',
        version: reader.integer('version'),
        features: reader.integer('features'),
        clusterId: reader.string('clusterId', MAX_CLUSTER_ID_LENGTH),
        required: readRequired(reader),
        withoutLeader: reader.remaining > 0 && reader.boolean('withoutLeader'),
      };
    case ClientType.attach:
      return { type: 'attach', id: reader.integer('id'), payload: reader.bytes('payload', MAX_FRAME_BYTES) };
    case ClientType.request:
      return {
        type: 'request',
        number: reader.integer('number'),
        ackedUpTo: reader.integer('ackedUpTo'),
        command: reader.integer('command'),
        payload: reader.bytes('payload', MAX_FRAME_BYTES),
      };
    case ClientType.read: {
      const id = reader.integer('id');
      const consistency = CONSISTENCIES[reader.integer('consistency')];
      if (consistency === undefined) throw new MalformedError('read.consistency is unknown');
      return {
        type: 'read',
        id,
        consistency,
        minIndex: reader.integer('minIndex'),
        query: readQuery(reader.tuple('query')),
      };
    }
    case ClientType.heartbeat:
      return { type: 'heartbeat', id: reader.integer('id') };
    case ClientType.ping:
      return { type: 'ping', id: reader.integer('id') };
    case ClientType.admin: {
      const id = reader.integer('id');
      return { type: 'admin', id, operation: readAdminOperation(reader.tuple('operation')) };
    }
    default:
      throw new MalformedError(`message type ${type} is unknown`);
  }
}

function membersToTuple(members: readonly Member[]): Packable[] {
  return members.map((member) => [member.server, member.clientAddress]);
}

function readMember(reader: TupleReader): Member {
  return { server: reader.integer('server'), clientAddress: reader.string('clientAddress', MAX_ADDRESS_LENGTH) };
}

function serverMessageToTuple(message: ServerMessage): Packable[] {
  const type = ServerType[message.type];
  switch (message.type) {
    case 'welcome':
      return [
        type,
        message.version,
        message.features,
        message.clusterId,
        message.server,
        message.leader,
        membersToTuple(message.members),
        message.required,
        message.term,
        message.spreadMs,
      ];
    case 'attached':
      return [type, message.id, message.index, replyToTuple(message.reply)];
    case 'reply':
      return [type, message.number, message.index, replyToTuple(message.reply)];
    case 'answer':
      return [type, message.id, message.index, answerToTuple(message.answer)];
    case 'renewed':
    case 'pong':
      return [type, message.id];
    case 'granted':
      return [type, message.index, message.lock, message.acquireIndex, message.token];
    case 'lost':
      return [type, message.index, message.lock, message.acquireIndex, LOSS_REASONS.indexOf(message.reason)];
    case 'ended':
      return [type, message.index, LOSS_REASONS.indexOf(message.reason)];
    case 'resend':
      return [type, message.from, errorCodeToWire(message.code)];
    case 'leader':
      return [type, message.leader, membersToTuple(message.members), message.term, message.spreadMs];
    case 'leave':
      return [type];
    case 'admin-answer':
      return [type, message.id, adminAnswerToTuple(message.answer)];
    case 'goodbye':
      return [
        type,
        errorCodeToWire(message.code),
        message.message.slice(0, MAX_MESSAGE_LENGTH),
        ...(message.againInMs === undefined ? [] : [message.againInMs]),
      ];
  }
}

function readLossReason(reader: TupleReader): LossReason {
  const reason = LOSS_REASONS[reader.integer('reason')];
  if (reason === undefined) throw new MalformedError('reason is unknown');
  return reason;
}

function readErrorCode(reader: TupleReader): ErrorCode {
  return errorCodeFromWire(reader.integer('code')) ?? 'UNSUPPORTED';
}

function readServerMessage(reader: TupleReader): ServerMessage | undefined {
  const type = reader.integer('type');
  switch (type) {
    case ServerType.welcome:
      return {
        type: 'welcome',
        version: reader.integer('version'),
        features: reader.integer('features'),
        clusterId: reader.string('clusterId', MAX_CLUSTER_ID_LENGTH),
        server: reader.integer('server'),
        leader: reader.integer('leader'),
        members: reader.list('members', readMember),
        required: readRequired(reader),
        term: readLater(reader, 'term'),
        spreadMs: readLater(reader, 'spreadMs'),
      };
    case ServerType.attached:
      return {
        type: 'attached',
        id: reader.integer('id'),
        index: reader.integer('index'),
        reply: readReply(reader.tuple('reply')),
      };
    case ServerType.reply:
      return {
        type: 'reply',
        number: reader.integer('number'),
        index: reader.integer('index'),
        reply: readReply(reader.tuple('reply')),
      };
    case ServerType.answer:
      return {
        type: 'answer',
        id: reader.integer('id'),
        index: reader.integer('index'),
        answer: readAnswer(reader.tuple('answer')),
      };
    case ServerType.renewed:
      return { type: 'renewed', id: reader.integer('id') };
    case ServerType.pong:
      return { type: 'pong', id: reader.integer('id') };
    case ServerType.granted:
      return {
        type: 'granted',
        index: reader.integer('index'),
        lock: reader.string('lock', MAX_LOCK_NAME_LENGTH),
        acquireIndex: reader.integer('acquireIndex'),
        token: reader.integer('token'),
      };
    case ServerType.lost:
      return {
        type: 'lost',
        index: reader.integer('index'),
        lock: reader.string('lock', MAX_LOCK_NAME_LENGTH),
        acquireIndex: reader.integer('acquireIndex'),
        reason: readLossReason(reader),
      };
    case ServerType.ended:
      return { type: 'ended', index: reader.integer('index'), reason: readLossReason(reader) };
    case ServerType.resend:
      return { type: 'resend', from: reader.integer('from'), code: readErrorCode(reader) };
    case ServerType.leader:
      return {
        type: 'leader',
        leader: reader.integer('leader'),
        members: reader.list('members', readMember),
        term: readLater(reader, 'term'),
        spreadMs: readLater(reader, 'spreadMs'),
      };
    case ServerType.leave:
      return { type: 'leave' };
    case ServerType['admin-answer']:
      return { type: 'admin-answer', id: reader.integer('id'), answer: readAdminAnswer(reader.tuple('answer')) };
    case ServerType.goodbye:
      return {
        type: 'goodbye',
        code: readErrorCode(reader),
        message: reader.string('message', MAX_MESSAGE_LENGTH),
        ...(reader.remaining > 0 ? { againInMs: reader.integer('againInMs') } : {}),
      };
    default:
      return undefined;
  }
}
