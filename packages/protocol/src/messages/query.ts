/** Reads: what may be asked, how fresh the answer must be, and the answers. Queries never go through the log. */

import {
  MAX_DATA_BYTES,
  MAX_LABEL_LENGTH,
  MAX_LOCK_NAME_LENGTH,
  MAX_LOCK_PARAMETERS_BYTES,
  MAX_PAGE_ENTRIES,
  MAX_PATH_LENGTH,
} from '../limits.ts';
import { deadlock, deadlockSteps } from './deadlock.ts';
import { LockKind } from './lock-kind.ts';
import { error, holderFields } from './reply.ts';
import {
  bytes,
  clamped,
  flag,
  integer,
  list,
  optional,
  record,
  text,
  trailing,
  trailingOptional,
  type ValueOf,
} from '../schema/field.ts';
import { message, messages } from '../schema/messages.ts';
import { openTuple } from '../schema/open-tuple.ts';
import { nodeTraits, stat } from './stat.ts';

/**
 * `linearizable`: reflects every write that was answered to anybody before the read began; costs a quorum round.
 * `session`: reflects everything that this client has seen. `local`: whatever the server has applied.
 */
export type Consistency = 'linearizable' | 'session' | 'local';
export const CONSISTENCIES = ['linearizable', 'session', 'local'] as const satisfies readonly Consistency[];

const path = text(MAX_PATH_LENGTH);
const lock = text(MAX_LOCK_NAME_LENGTH);
/** At least one entry a page, so that pages end. */
const limit = clamped(1, MAX_PAGE_ENTRIES);

export const queries = messages('query', {
  get: message(1, { path }),
  exists: message(2, { path }),
  children: message(3, { path }),
  /** Whether that hold exists, and under which token. */
  verify: message(4, { lock, acquireIndex: integer() }),
  /** Locks by name, after `after`, at most `limit`. */
  locks: message(5, { prefix: lock, after: lock, limit }),
  lock: message(6, { lock }),
  /** Sessions by id, after `after`, at most `limit`. */
  sessions: message(7, { after: integer(), limit }),
  /** Names of direct children in order of code units, after `after`, at most `limit`. */
  childrenPage: message(8, { path, after: path, limit }),
  /** How many nodes are below that one. */
  descendants: message(9, { path }),
  /** Deadlocks by the acquire index of the youngest wait of each, after `after`, at most `limit`. */
  deadlocks: message(10, { after: integer(), limit }),
  /** What that wait waits for. */
  waitingFor: message(11, { lock, acquireIndex: integer() }),
});

export type Query = ValueOf<typeof queries>;

/** That a holder was asked to release its hold. */
const releaseRequest = record({
  /** Of the entry that has asked. */
  index: integer(),
  /** When that was, milliseconds since the Unix epoch. */
  askedAt: integer(),
  withinMs: integer(),
  /** When the time is over the hold is revoked; otherwise it stays. */
  revokes: flag(),
  /** The label of the session that has asked. */
  by: text(MAX_LABEL_LENGTH),
});

export interface ReleaseRequest extends ValueOf<typeof releaseRequest> {}

/** One place in a lock's queue. */
const queueEntry = record({
  ...holderFields,
  /** Its node's creation time, milliseconds since the Unix epoch. */
  since: integer(),
  /** When it was granted, milliseconds since the Unix epoch; 0 while it waits. */
  grantedAt: integer(),
  /** Of its request, as the lock's kind writes them; see {@link lockKinds}. */
  parameters: openTuple(MAX_LOCK_PARAMETERS_BYTES),
  /** How long the next grant waits when the hold is lost. */
  lockDelayMs: optional(integer(), 0),
  /** It ends when it waits and is in a deadlock. */
  abortInDeadlock: optional(flag(), false),
  releaseRequest: trailingOptional(releaseRequest),
});

export interface QueueEntry extends ValueOf<typeof queueEntry> {}

const delay = record({
  /** Of the entry that ended the hold, or the last one of several. */
  index: integer(),
  /** For so long nobody is granted the lock, from that entry on, by the leader's clock; another leader begins anew. */
  delayMs: integer(),
  /** When that entry was made, milliseconds since the Unix epoch. */
  since: integer(),
  /** The highest under which a hold was lost. */
  token: integer(),
});

/** A lock is delayed: a hold was lost that had asked for it, and nobody is granted the lock for a while. */
export interface LockDelay extends ValueOf<typeof delay> {}

/** A lock's. */
const kind = optional<number>(integer(), LockKind.mutex);

const lockSummary = record({
  lock,
  holders: list(queueEntry),
  waiters: integer(),
  kind,
  /** Absent for one that is not delayed. */
  delay: trailingOptional(delay),
});

export interface LockSummary extends ValueOf<typeof lockSummary> {}

const sessionSummary = record({
  session: integer(),
  label: text(MAX_LABEL_LENGTH),
  timeoutMs: integer(),
  createdAt: integer(),
  holds: integer(),
  waits: integer(),
  ephemerals: integer(),
});

export interface SessionSummary extends ValueOf<typeof sessionSummary> {}

export const answers = messages('answer', {
  error,
  get: message(1, { data: bytes(MAX_DATA_BYTES), stat, traits: trailingOptional(nodeTraits) }),
  /** Undefined when there is no such node. */
  exists: message(2, { stat: trailing(stat) }),
  children: message(3, { names: list(path, 'name'), stat }),
  /** `token` 0: no such hold. */
  verify: message(4, { token: integer() }),
  /** `more`: another page follows. */
  locks: message(5, { locks: list(lockSummary), more: flag() }),
  /**
   * In queue order, holders (token not 0) first; empty for a lock that nobody holds. `truncated`: longer than a page. `delay`: absent for one
   * that is not delayed.
   */
  lock: message(6, { queue: list(queueEntry), truncated: flag(), kind, delay: trailingOptional(delay) }),
  sessions: message(7, { sessions: list(sessionSummary), more: flag() }),
  /** `more`: another page follows. */
  childrenPage: message(8, { names: list(path, 'name'), more: flag(), stat }),
  descendants: message(9, { count: integer() }),
  /** `more`: another page follows. `skipped`: waits that were not looked at to their end, for all the others that they lead to. */
  deadlocks: message(10, { deadlocks: list(deadlock), more: flag(), skipped: integer() }),
  /**
   * `before`: acquires that are before it in that queue, holders not counted. `holders`: some of those who hold the lock. `since`: when it
   * began to wait, milliseconds since the Unix epoch; 0 when there is no such wait. `deadlock`: that it is in; empty for none that was found.
   */
  waitingFor: message(11, {
    holders: list(queueEntry),
    before: integer(),
    since: integer(),
    deadlock: deadlockSteps,
  }),
});

export type Answer = ValueOf<typeof answers>;
