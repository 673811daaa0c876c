/** Reads: what may be asked, how fresh the answer must be, and the answers. Queries never go through the log. */

import type { ErrorCode } from './error-code.ts';
import { errorCodeFromWire, errorCodeToWire } from './error-code.ts';
import {
  MAX_DATA_BYTES,
  MAX_LABEL_LENGTH,
  MAX_LOCK_NAME_LENGTH,
  MAX_MESSAGE_LENGTH,
  MAX_PAGE_ENTRIES,
  MAX_PATH_LENGTH,
} from './limits.ts';
import { MalformedError } from './malformed-error.ts';
import type { Packable, TupleReader } from './pack.ts';
import { holderToTuple, readHolder, type Holder } from './reply.ts';
import { readStat, statToTuple, type Stat } from './stat.ts';

/**
 * `linearizable`: reflects every write that was answered to anybody before the read began; costs a quorum round.
 * `session`: reflects everything that this client has seen. `local`: whatever the server has applied.
 */
export type Consistency = 'linearizable' | 'session' | 'local';
export const CONSISTENCIES = ['linearizable', 'session', 'local'] as const satisfies readonly Consistency[];

export type Query =
  | { readonly type: 'get'; readonly path: string }
  | { readonly type: 'exists'; readonly path: string }
  | { readonly type: 'children'; readonly path: string }
  /** Whether that hold exists, and under which token. */
  | { readonly type: 'verify'; readonly lock: string; readonly acquireIndex: number }
  /** Locks by name, after `after`, at most `limit`. */
  | { readonly type: 'locks'; readonly prefix: string; readonly after: string; readonly limit: number }
  | { readonly type: 'lock'; readonly lock: string }
  /** Sessions by id, after `after`, at most `limit`. */
  | { readonly type: 'sessions'; readonly after: number; readonly limit: number };

/** One place in a lock's queue. */
export interface QueueEntry extends Holder {
  /** Its node's creation time, milliseconds since the Unix epoch. */
  readonly since: number;
  /** When it was granted, milliseconds since the Unix epoch; 0 while it waits. */
  readonly grantedAt: number;
}

export interface LockSummary {
  readonly lock: string;
  readonly holders: readonly QueueEntry[];
  readonly waiters: number;
}

export interface SessionSummary {
  readonly session: number;
  readonly label: string;
  readonly timeoutMs: number;
  readonly createdAt: number;
  readonly holds: number;
  readonly waits: number;
  readonly ephemerals: number;
}

export type Answer =
  | { readonly type: 'error'; readonly code: ErrorCode; readonly message: string }
  | { readonly type: 'get'; readonly data: Uint8Array; readonly stat: Stat }
  /** `exists`; undefined when there is no such node. */
  | { readonly type: 'exists'; readonly stat: Stat | undefined }
  | { readonly type: 'children'; readonly names: readonly string[]; readonly stat: Stat }
  /** `token` 0: no such hold. */
  | { readonly type: 'verify'; readonly token: number }
  /** `more`: another page follows. */
  | { readonly type: 'locks'; readonly locks: readonly LockSummary[]; readonly more: boolean }
  /** In queue order, holders (token not 0) first; empty for a lock that nobody holds. `truncated`: longer than a page. */
  | { readonly type: 'lock'; readonly queue: readonly QueueEntry[]; readonly truncated: boolean }
  | { readonly type: 'sessions'; readonly sessions: readonly SessionSummary[]; readonly more: boolean };

const QueryType = { get: 1, exists: 2, children: 3, verify: 4, locks: 5, lock: 6, sessions: 7 } as const;
const ERROR_ANSWER = 0;

export function queryToTuple(query: Query): Packable[] {
  const type = QueryType[query.type];
  switch (query.type) {
    case 'get':
    case 'exists':
    case 'children':
      return [type, query.path];
    case 'verify':
      return [type, query.lock, query.acquireIndex];
    case 'locks':
      return [type, query.prefix, query.after, query.limit];
    case 'lock':
      return [type, query.lock];
    case 'sessions':
      return [type, query.after, query.limit];
  }
}

/** @throws MalformedError */
export function readQuery(reader: TupleReader): Query {
  const type = reader.integer('type');
  switch (type) {
    case QueryType.get:
      return { type: 'get', path: reader.string('path', MAX_PATH_LENGTH) };
    case QueryType.exists:
      return { type: 'exists', path: reader.string('path', MAX_PATH_LENGTH) };
    case QueryType.children:
      return { type: 'children', path: reader.string('path', MAX_PATH_LENGTH) };
    case QueryType.verify:
      return {
        type: 'verify',
        lock: reader.string('lock', MAX_LOCK_NAME_LENGTH),
        acquireIndex: reader.integer('acquireIndex'),
      };
    case QueryType.locks:
      return {
        type: 'locks',
        prefix: reader.string('prefix', MAX_LOCK_NAME_LENGTH),
        after: reader.string('after', MAX_LOCK_NAME_LENGTH),
        limit: readLimit(reader),
      };
    case QueryType.lock:
      return { type: 'lock', lock: reader.string('lock', MAX_LOCK_NAME_LENGTH) };
    case QueryType.sessions:
      return { type: 'sessions', after: reader.integer('after'), limit: readLimit(reader) };
    default:
      throw new MalformedError(`query type ${type} is unknown`);
  }
}

export function answerToTuple(answer: Answer): Packable[] {
  switch (answer.type) {
    case 'error':
      return [ERROR_ANSWER, errorCodeToWire(answer.code), answer.message.slice(0, MAX_MESSAGE_LENGTH)];
    case 'get':
      return [QueryType.get, answer.data, statToTuple(answer.stat)];
    case 'exists':
      return answer.stat === undefined ? [QueryType.exists] : [QueryType.exists, statToTuple(answer.stat)];
    case 'children':
      return [QueryType.children, answer.names, statToTuple(answer.stat)];
    case 'verify':
      return [QueryType.verify, answer.token];
    case 'locks':
      return [QueryType.locks, answer.locks.map(lockSummaryToTuple), answer.more];
    case 'lock':
      return [QueryType.lock, answer.queue.map(queueEntryToTuple), answer.truncated];
    case 'sessions':
      return [QueryType.sessions, answer.sessions.map(sessionSummaryToTuple), answer.more];
  }
}

/** @throws MalformedError */
export function readAnswer(reader: TupleReader): Answer {
  const type = reader.integer('type');
  switch (type) {
    case ERROR_ANSWER: {
      const code = errorCodeFromWire(reader.integer('code')) ?? 'UNSUPPORTED';
      return { type: 'error', code, message: reader.string('message', MAX_MESSAGE_LENGTH) };
    }
    case QueryType.get:
      return { type: 'get', data: reader.bytes('data', MAX_DATA_BYTES), stat: readStat(reader.tuple('stat')) };
    case QueryType.exists:
      return { type: 'exists', stat: reader.remaining > 0 ? readStat(reader.tuple('stat')) : undefined };
    case QueryType.children:
      return {
        type: 'children',
        names: reader.fields('names', (names) => names.string('name', MAX_PATH_LENGTH)),
        stat: readStat(reader.tuple('stat')),
      };
    case QueryType.verify:
      return { type: 'verify', token: reader.integer('token') };
    case QueryType.locks:
      return { type: 'locks', locks: reader.list('locks', readLockSummary), more: reader.boolean('more') };
    case QueryType.lock:
      return { type: 'lock', queue: reader.list('queue', readQueueEntry), truncated: reader.boolean('truncated') };
    case QueryType.sessions:
      return { type: 'sessions', sessions: reader.list('sessions', readSessionSummary), more: reader.boolean('more') };
    default:
      throw new MalformedError(`answer type ${type} is unknown`);
  }
}

function readLimit(reader: TupleReader): number {
  return Math.max(1, Math.min(MAX_PAGE_ENTRIES, reader.integer('limit')));
}

function queueEntryToTuple(entry: QueueEntry): Packable[] {
  return [...holderToTuple(entry), entry.since, entry.grantedAt];
}

function readQueueEntry(reader: TupleReader): QueueEntry {
  return { ...readHolder(reader), since: reader.integer('since'), grantedAt: reader.integer('grantedAt') };
}

function lockSummaryToTuple(summary: LockSummary): Packable[] {
  return [summary.lock, summary.holders.map(queueEntryToTuple), summary.waiters];
}

function readLockSummary(reader: TupleReader): LockSummary {
  return {
    lock: reader.string('lock', MAX_LOCK_NAME_LENGTH),
    holders: reader.list('holders', readQueueEntry),
    waiters: reader.integer('waiters'),
  };
}

function sessionSummaryToTuple(summary: SessionSummary): Packable[] {
  return [
    summary.session,
    summary.label,
    summary.timeoutMs,
    summary.createdAt,
    summary.holds,
    summary.waits,
    summary.ephemerals,
  ];
}

function readSessionSummary(reader: TupleReader): SessionSummary {
  return {
    session: reader.integer('session'),
    label: reader.string('label', MAX_LABEL_LENGTH),
    timeoutMs: reader.integer('timeoutMs'),
    createdAt: reader.integer('createdAt'),
    holds: reader.integer('holds'),
    waits: reader.integer('waits'),
    ephemerals: reader.integer('ephemerals'),
  };
}
