/** Reads: what may be asked, how fresh the answer must be, and the answers. Queries never go through the log. */

import {
  MAX_DATA_BYTES,
  MAX_LABEL_LENGTH,
  MAX_LOCK_NAME_LENGTH,
  MAX_LOCK_PARAMETERS_BYTES,
  MAX_PAGE_ENTRIES,
  MAX_PATH_LENGTH,
} from '../limits.ts';
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
});

export type Query = ValueOf<typeof queries>;

/** One place in a lock's queue. */
const queueEntry = record({
  ...holderFields,
  /** Its node's creation time, milliseconds since the Unix epoch. */
  since: integer(),
  /** When it was granted, milliseconds since the Unix epoch; 0 while it waits. */
  grantedAt: integer(),
  /** Of its request, as the lock's kind writes them; see {@link lockKinds}. */
  parameters: openTuple(MAX_LOCK_PARAMETERS_BYTES),
});

export interface QueueEntry extends ValueOf<typeof queueEntry> {}

/** A lock's. */
const kind = optional<number>(integer(), LockKind.mutex);

const lockSummary = record({ lock, holders: list(queueEntry), waiters: integer(), kind });

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
  /** In queue order, holders (token not 0) first; empty for a lock that nobody holds. `truncated`: longer than a page. */
  lock: message(6, { queue: list(queueEntry), truncated: flag(), kind }),
  sessions: message(7, { sessions: list(sessionSummary), more: flag() }),
  /** `more`: another page follows. */
  childrenPage: message(8, { names: list(path, 'name'), more: flag(), stat }),
  descendants: message(9, { count: integer() }),
});

export type Answer = ValueOf<typeof answers>;
