/** Every value that the protocol can carry. */

import fc, { type Arbitrary } from 'fast-check';

import {
  CONSISTENCIES,
  MEMBER_ROLES,
  ERROR_CODES,
  LockKind,
  MAX_INDEX,
  MAX_LABEL_LENGTH,
  MAX_LOCK_NAME_LENGTH,
  MAX_PAGE_ENTRIES,
  MAX_SESSION_TIMEOUT_MS,
  MIN_SESSION_TIMEOUT_MS,
  SECRET_HASH_BYTES,
  type Answer,
  type ClientMessage,
  type Command,
  type ErrorCode,
  type Query,
  type Reply,
  type ServerMessage,
  type Stat,
} from '../../src/index.ts';

/** Every width of msgpack's integers, and the doubles that msgpackr writes for those beyond 32 bits. */
const integer = fc.oneof(
  fc.constantFrom(0, 1, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, MAX_INDEX),
  fc.nat({ max: MAX_INDEX }),
);
const version = fc.oneof(fc.constantFrom(-1, -32, -33, -128, -129, -32_769, -MAX_INDEX), integer);

/** Well-formed text; U+FEFF first, and lengths around msgpackr's and the reader's own switches between decoders. */
export function text(maxLength: number): Arbitrary<string> {
  const unit = fc.oneof(fc.constantFrom('a', 'ü', '中', '\u{1f512}', '\0', '\ufeff', '\ufffd', '\uffff'), char);
  return fc
    .oneof(
      fc.string({ unit, maxLength: Math.min(maxLength, 90) }),
      fc.string({ unit: fc.constantFrom('a', '/', '~'), maxLength: Math.min(maxLength, 90) }),
      fc.nat({ max: maxLength }).map((length) => 'x'.repeat(length)),
    )
    .filter((string) => string.length <= maxLength);
}
const char = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 });

const path = text(1024);
const lock = text(MAX_LOCK_NAME_LENGTH);
const label = text(MAX_LABEL_LENGTH);
const payload = fc.uint8Array({ maxLength: 300 });
const code = fc.constantFrom(...(Object.keys(ERROR_CODES) as ErrorCode[]));
const error = { type: fc.constant('error' as const), code, message: text(4_096) };

export const stat: Arbitrary<Stat> = fc.record({
  czxid: integer,
  mzxid: integer,
  pzxid: integer,
  ctime: integer,
  mtime: integer,
  version: integer,
  cversion: integer,
  aversion: integer,
  ephemeralOwner: integer,
  dataLength: integer,
  numChildren: integer,
});

function record<Type extends string, Fields>(
  type: Type,
  fields: { [Key in keyof Fields]: Arbitrary<Fields[Key]> },
): Arbitrary<{ type: Type } & Fields> {
  return fc.record(fields).map((values) => ({ type, ...values }) as { type: Type } & Fields);
}

export const command: Arbitrary<Command> = fc.oneof(
  record('attach', {
    secretHash: fc.uint8Array({ minLength: SECRET_HASH_BYTES, maxLength: SECRET_HASH_BYTES }),
    session: integer,
    timeoutMs: fc.integer({ min: MIN_SESSION_TIMEOUT_MS, max: MAX_SESSION_TIMEOUT_MS }),
    label,
  }),
  record('closeSession', { session: integer }),
  record('create', { path, data: payload, ephemeral: fc.boolean(), sequential: fc.boolean() }),
  record('set', { path, data: payload, version }),
  record('delete', { path, version }),
  record('acquire', { lock, kind: fc.constant(LockKind.mutex), wait: fc.boolean() }),
  record('release', { lock, acquireIndex: integer }),
  record('cancel', { lock, acquireIndex: integer }),
  record('expireSession', { session: integer, generation: integer }),
  record('refuse', { server: integer }),
  record('raiseStateVersion', { version: integer }),
  record('continueEnd', { session: integer }),
);

const holder = { session: integer, label, token: integer, acquireIndex: integer };
const queueEntry = fc.record({ ...holder, since: integer, grantedAt: integer });

export const reply: Arbitrary<Reply> = fc.oneof(
  fc.record(error),
  fc.constant({ type: 'done' } as const),
  record('created', { path: text(1024 + 32), stat }),
  record('changed', { stat }),
  record('acquire', { acquireIndex: integer, token: integer }),
  record('lockHeld', { holder: fc.record(holder) }),
  record('cancelled', { token: integer }),
  record('attached', {
    session: integer,
    generation: integer,
    timeoutMs: integer,
    lastApplied: integer,
    acquires: fc.array(fc.record({ lock, acquireIndex: integer, token: integer }), { maxLength: 20 }),
  }),
);

const limit = fc.integer({ min: 1, max: MAX_PAGE_ENTRIES });

export const query: Arbitrary<Query> = fc.oneof(
  record('get', { path }),
  record('exists', { path }),
  record('children', { path }),
  record('verify', { lock, acquireIndex: integer }),
  record('locks', { prefix: lock, after: lock, limit }),
  record('lock', { lock }),
  record('sessions', { after: integer, limit }),
);

export const answer: Arbitrary<Answer> = fc.oneof(
  fc.record(error),
  record('get', { data: payload, stat }),
  record('exists', { stat: fc.option(stat, { nil: undefined }) }),
  record('children', { names: fc.array(path, { maxLength: 20 }), stat }),
  record('verify', { token: integer }),
  record('locks', {
    locks: fc.array(fc.record({ lock, holders: fc.array(queueEntry, { maxLength: 3 }), waiters: integer }), {
      maxLength: 5,
    }),
    more: fc.boolean(),
  }),
  record('lock', { queue: fc.array(queueEntry, { maxLength: 5 }), truncated: fc.boolean() }),
  record('sessions', {
    sessions: fc.array(
      fc.record({
        session: integer,
        label,
        timeoutMs: integer,
        createdAt: integer,
        holds: integer,
        waits: integer,
        ephemerals: integer,
      }),
      { maxLength: 5 },
    ),
    more: fc.boolean(),
  }),
);

const id = { id: integer };

const memberChange = fc.oneof(
  record('add', { server: integer, peerAddress: text(300), observer: fc.boolean(), joinSecret: text(100) }),
  record('promote', { server: integer }),
  record('remove', { server: integer }),
);
const memberSummary = fc.record({
  server: integer,
  role: fc.constantFrom(...MEMBER_ROLES),
  peerAddress: text(300),
  clientAddress: text(300),
  connected: fc.boolean(),
});

export const clientMessage: Arbitrary<ClientMessage> = fc.oneof(
  record('hello', {
    version: integer,
    features: integer,
    clusterId: text(100),
    required: integer,
    withoutLeader: fc.boolean(),
  }),
  record('attach', { ...id, payload }),
  record('request', { number: integer, ackedUpTo: integer, command: integer, payload }),
  record('read', { ...id, consistency: fc.constantFrom(...CONSISTENCIES), minIndex: integer, query }),
  record('heartbeat', id),
  record('ping', id),
  record('admin', {
    ...id,
    operation: fc.oneof(
      record('transfer', { server: integer }),
      record('members', { local: fc.boolean() }),
      record('change-members', { change: memberChange }),
    ),
  }),
);

const members = fc.array(fc.record({ server: integer, clientAddress: text(300) }), { maxLength: 7 });
const reason = fc.constantFrom('expired' as const, 'revoked' as const, 'closed' as const);
const index = integer;

export const serverMessage: Arbitrary<ServerMessage> = fc.oneof(
  record('welcome', {
    version: integer,
    features: integer,
    clusterId: text(100),
    server: integer,
    leader: integer,
    members,
    required: integer,
    term: integer,
    spreadMs: integer,
  }),
  record('attached', { ...id, index, reply }),
  record('reply', { number: integer, index, reply }),
  record('answer', { ...id, index, answer }),
  record('renewed', id),
  record('pong', id),
  record('granted', { index, lock, acquireIndex: integer, token: integer }),
  record('lost', { index, lock, acquireIndex: integer, reason }),
  record('ended', { index, reason }),
  record('resend', { from: integer, code }),
  record('leader', { leader: integer, members, term: integer, spreadMs: integer }),
  record('leave', {}),
  record('admin-answer', {
    ...id,
    answer: fc.oneof(
      record('error', { code, message: text(4_096) }),
      record('transferred', { server: integer }),
      record('members', { leader: integer, members: fc.array(memberSummary, { maxLength: 7 }), index: integer }),
    ),
  }),
  record('goodbye', { code, message: text(4_096) }),
  record('goodbye', { code, message: text(4_096), againInMs: integer }),
);
