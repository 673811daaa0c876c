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
 *   admin → admin-answer                what an operator asks for; allowed without a session
 *   watch → watching, or watch-refused  nodes are watched from an index on; allowed without a session
 *   unwatch → unwatched, or watch-refused
 *   granted, lost, floor, contended, release-requested   pushed by the server, of locks
 *   ended, resend, events, missed, leader, leave, goodbye   pushed by the server
 */

import { adminAnswers, adminOperations, type AdminAnswer } from './admin.ts';
import { NO_FEATURES } from '../features.ts';
import {
  MAX_CREDENTIAL_BYTES,
  MAX_LABEL_LENGTH,
  MAX_PROGRAM_LENGTH,
  MAX_FRAME_BYTES,
  MAX_FRAME_MESSAGES,
  MAX_LOCK_NAME_LENGTH,
  MAX_MESSAGE_LENGTH,
} from '../limits.ts';
import { MalformedError } from '../malformed-error.ts';
import { pack, unpackTuple, type TupleReader } from '../pack.ts';
import { deadlockSteps } from './deadlock.ts';
import { CONSISTENCIES, answers, queries, type Answer } from './query.ts';
import { replies, type Reply } from './reply.ts';
import { nodeEvent, unwatchedNode, watchedNode } from './watch.ts';
import {
  bytes,
  choice,
  choiceOr,
  cutText,
  errorCode,
  flag,
  integer,
  later,
  list,
  optional,
  record,
  text,
  trailingOptional,
  type ValueOf,
} from '../schema/field.ts';
import { message, messages, tolerant } from '../schema/messages.ts';

const MAX_ADDRESS_LENGTH = 300;
const MAX_CLUSTER_ID_LENGTH = 100;

const member = record({
  server: integer(),
  /** `host:port` for clients; empty while unknown. */
  clientAddress: text(MAX_ADDRESS_LENGTH),
});

export interface Member extends ValueOf<typeof member> {}

const END_REASONS = ['expired', 'revoked', 'closed'] as const;
/** Why a session has ended. */
export type EndReason = (typeof END_REASONS)[number];

/** `deadlock`: of a wait alone, which was to end then. */
const LOSS_REASONS = [...END_REASONS, 'deadlock'] as const;
export type LossReason = (typeof LOSS_REASONS)[number];

type ErrorAnswer = Extract<Reply & Answer & AdminAnswer, { readonly type: 'error' }>;

const clusterId = text(MAX_CLUSTER_ID_LENGTH);
const payload = bytes(MAX_FRAME_BYTES);
const lock = text(MAX_LOCK_NAME_LENGTH);
/** One of a later version was nobody's own doing either. */
const reason = choiceOr(LOSS_REASONS, 'revoked');
const endReason = choiceOr(END_REASONS, 'revoked');
const LATER: ErrorAnswer = {
  type: 'error',
  code: 'UNSUPPORTED',
  message: 'the server answered as only a later version of the client understands: upgrade the client',
};
const tolerantReply = tolerant<Reply>(replies, LATER);
const tolerantAnswer = tolerant<Answer>(answers, LATER);
const tolerantAdminAnswer = tolerant<AdminAnswer>(adminAnswers, LATER);
/** Absent in the first release. */
const required = later(integer(), NO_FEATURES);

/** A proof of who the client is; the scheme says of which kind. No scheme is known yet: a server refuses what it cannot check. */
const credential = record({ scheme: text(MAX_PROGRAM_LENGTH), proof: bytes(MAX_CREDENTIAL_BYTES) });

/** Of `get`, `exists`, `children` and `childrenPage`. */
const watchRead = record({ consistency: choice(CONSISTENCIES), query: queries });

export const clientMessages = messages('message', {
  /**
   * `features`: offered; `required`: the server must know them. `clusterId` empty: any cluster. `withoutLeader`: this client reads what
   * the server has, also where no leader is known, and makes no session on the connection. `version`: the highest that it speaks, and
   * `lowestVersion` the lowest; 0: no other. `program` and `programVersion`: what the client is, for logs. `credentials`: who it is.
   */
  hello: message(1, {
    version: integer(),
    features: integer(),
    clusterId,
    required,
    withoutLeader: optional(flag(), false),
    lowestVersion: optional(integer(), 0),
    program: optional(text(MAX_PROGRAM_LENGTH), ''),
    programVersion: optional(text(MAX_PROGRAM_LENGTH), ''),
    credentials: optional(list(credential), []),
  }),
  /** `payload` is an attach request; `id` is the client's choice and comes back. */
  attach: message(2, { id: integer(), payload }),
  /**
   * `number`: 1 for a session's first, then without gaps. `ackedUpTo`: every request up to there has been answered, and the answer has
   * arrived.
   */
  request: message(3, { number: integer(), ackedUpTo: integer(), command: integer(), payload }),
  /** `minIndex`, for `session`: the highest index that the client has seen. */
  read: message(4, { id: integer(), consistency: choice(CONSISTENCIES), minIndex: integer(), query: queries }),
  heartbeat: message(5, { id: integer() }),
  ping: message(6, { id: integer() }),
  /** Only to a server that offers the feature. `id` is of the same series as that of reads. */
  admin: message(7, { id: integer(), operation: adminOperations }),
  /**
   * Only to a server that offers the feature, as is unwatch. All of them or none. `from`: they tell what has happened behind that index; 0:
   * what happens from now on, at a server that has applied `minIndex`. `id` is the client's choice, not 0, and comes back. `read`: of one
   * of the nodes, answered as it is at the index at which they watch, and as fresh as its consistency demands.
   */
  watch: message(8, {
    id: integer(),
    from: integer(),
    minIndex: integer(),
    nodes: list(watchedNode),
    read: trailingOptional(watchRead),
  }),
  /** All of them or none. */
  unwatch: message(9, { id: integer(), nodes: list(unwatchedNode) }),
});

export type ClientMessage = ValueOf<typeof clientMessages>;

export const serverMessages = messages('message', {
  /**
   * `version`: the one that both speak from here on. `features`: offered; `required`: the client must know them. `leader`: 0 while none
   * is known. `term`: that this server is in; 0 from
   * one that does not tell. `spreadMs`: over so long should clients spread their first dials when they lose this server all at once.
   */
  welcome: message(1, {
    version: integer(),
    features: integer(),
    clusterId,
    server: integer(),
    leader: integer(),
    members: list(member),
    required,
    term: later(integer(), 0),
    spreadMs: later(integer(), 0),
  }),
  /** The outcome of attach. */
  attached: message(2, { id: integer(), index: integer(), reply: tolerantReply }),
  /** `index` is that of the entry that answered, which for a retry is a later one than that which took effect. */
  reply: message(3, { number: integer(), index: integer(), reply: tolerantReply }),
  answer: message(4, { id: integer(), index: integer(), answer: tolerantAnswer }),
  /** `through`: everything up to that index was told to the watches of this connection; absent where there are none. */
  renewed: message(5, { id: integer(), through: trailingOptional(integer()) }),
  pong: message(6, { id: integer() }),
  /** A wait has become a hold. `floor` as in the reply `acquire`. */
  granted: message(7, {
    index: integer(),
    lock,
    acquireIndex: integer(),
    token: integer(),
    floor: trailingOptional(integer()),
  }),
  /** A hold or a wait is gone and its session is not: somebody deleted its node, or (`deadlock`) it was ended to break this one. */
  lost: message(8, {
    index: integer(),
    lock,
    acquireIndex: integer(),
    reason,
    deadlock: trailingOptional(deadlockSteps),
  }),
  /** The session of this connection is over. */
  ended: message(9, { index: integer(), reason: endReason }),
  /**
   * Requests from number `from` on were not applied, or may not have been: send every unanswered one again, in order. The only
   * way in which a request is refused without using up its number; a `reply` always comes from the applied entry.
   */
  resend: message(10, { from: integer(), code: errorCode() }),
  /** Pushed when one of these changes: `term` and `spreadMs` are as in `welcome`. */
  leader: message(11, {
    leader: integer(),
    members: list(member),
    term: later(integer(), 0),
    spreadMs: later(integer(), 0),
  }),
  /** The server closes the connection after this frame. `againInMs`: it takes this client then, and not before. */
  goodbye: message(12, {
    code: errorCode(),
    message: cutText(MAX_MESSAGE_LENGTH),
    againInMs: trailingOptional(integer()),
  }),
  /** The server is about to stop and serves until then: move to another. Only to clients that offer the feature. */
  leave: message(13, {}),
  'admin-answer': message(14, { id: integer(), answer: tolerantAdminAnswer }),
  /**
   * They watch, and were told everything up to `index`. `existing`: of each node in its order a bit, the lowest one first, whether it is
   * there at that index. `answer`: to the read of the watch message, at that index.
   */
  watching: message(15, {
    id: integer(),
    index: integer(),
    existing: bytes(MAX_FRAME_BYTES),
    answer: trailingOptional(tolerantAnswer),
  }),
  /**
   * What the entry at index `through` did to what is watched, all of it; everything before it was told. `id` 0: to all watches of the
   * connection that `watching` has confirmed; otherwise to those which that watch message is about, and nobody else.
   */
  events: message(16, { id: integer(), through: integer(), events: list(nodeEvent) }),
  /**
   * What happened behind `from` and up to `through` can't be told to recursive watches; they go on from there. To others it was told as
   * far as the nodes still show it. `id` as in events.
   */
  missed: message(17, { id: integer(), from: integer(), through: integer() }),
  /** Nothing of it was done. */
  'watch-refused': message(18, { id: integer(), code: errorCode(), message: cutText(MAX_MESSAGE_LENGTH) }),
  unwatched: message(19, { id: integer(), index: integer() }),
  /** No hold of that lock has a token below `floor` any more. For each of the holds that the client has of it. Only to clients that offer the feature. */
  floor: message(20, { index: integer(), lock, acquireIndex: integer(), floor: integer() }),
  /** Others wait for a lock that the client holds; said of a hold once, as a rule. Only to clients that offer the feature. */
  contended: message(21, { index: integer(), lock, acquireIndex: integer() }),
  /**
   * A hold of the session is to be released: told when an operator asks, and again after each attach. `withinMs`: how much time is left, as far
   * as the server knows. `revokes`: it is revoked then. `by`: the label of whoever has asked.
   */
  'release-requested': message(22, {
    index: integer(),
    lock,
    acquireIndex: integer(),
    withinMs: integer(),
    revokes: flag(),
    by: text(MAX_LABEL_LENGTH),
  }),
});

export type ServerMessage = ValueOf<typeof serverMessages>;

export function encodeClientFrame(list: readonly ClientMessage[]): Uint8Array {
  return pack(list.map(clientMessages.writeTuple));
}

/** @throws MalformedError */
export function decodeClientFrame(frame: Uint8Array): ClientMessage[] {
  return readFrame(frame, clientMessages.readTuple, MAX_FRAME_MESSAGES);
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
    return clientMessages.readTuple(this.#list.tuple('message'));
  }

  /** What has not been decoded, with memory of its own. */
  copy(): ClientFrame {
    const copy = new ClientFrame(this.#frame.slice());
    for (; copy.#read < this.#read; copy.#read += 1) copy.#list.tuple('message');
    return copy;
  }
}

export function encodeServerFrame(list: readonly ServerMessage[]): Uint8Array {
  return pack(list.map(serverMessages.writeTuple));
}

/** Messages of types that this version does not know are left out. @throws MalformedError */
export function decodeServerFrame(frame: Uint8Array): ServerMessage[] {
  return readFrame(frame, serverMessages.readKnown);
}

function openFrame(frame: Uint8Array, maxMessages: number): TupleReader {
  if (frame.length > MAX_FRAME_BYTES)
    throw new MalformedError(`a frame of ${frame.length} bytes is over ${MAX_FRAME_BYTES}`);
  const list = unpackTuple(frame, 'frame');
  if (list.remaining > maxMessages)
    throw new MalformedError(`a frame of ${list.remaining} messages is over ${maxMessages}; split it`);
  return list;
}

function readFrame<T>(frame: Uint8Array, read: (reader: TupleReader) => T | undefined, maxMessages = Infinity): T[] {
  // Mostly it is one, for which an array that grows would take room for seventeen.
  let found: T[] | undefined;
  const list = openFrame(frame, maxMessages);
  while (list.remaining > 0) {
    const message = read(list.tuple('message'));
    if (message === undefined) continue;
    if (found === undefined) found = [message];
    else found.push(message);
  }
  return found ?? [];
}
