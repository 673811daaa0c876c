/**
 * The vocabulary of consensus: ids, entries, and the messages between servers. Events and effects are in event.ts.
 *
 * Messages, all but the last three with an answer:
 *   pre-vote            would you vote for me in `term`? Changes nothing at the receiver.
 *   vote                vote for me in `term`. `transfer`: the leader asked me to stand, so stickiness does not apply.
 *   append              entries after (prevIndex, prevTerm), and the leader's commit index.
 *   append-response     accepted: the log agrees up to `index` and is durable up to there. Rejected: `index` and `hintTerm` say where to try next.
 *   heartbeat           I lead `term`. `round` comes back in the response, and confirms reads that were asked before it was sent.
 *   commit              the commit index moved; no answer. At most what the receiver has acknowledged.
 *   timeout-now         stand for election at once: leadership is transferred to you.
 */

declare const brand: unique symbol;
type Branded<Name extends string> = number & { readonly [brand]: Name };

/** Positive; used once for all time in a cluster. 0 stands for none. */
export type ServerId = Branded<'ServerId'>;
export type Term = Branded<'Term'>;
/** 1 for the first entry; 0 stands for before it. */
export type LogIndex = Branded<'LogIndex'>;
/** Growing number of a durable write. */
export type WriteSeq = Branded<'WriteSeq'>;

export const NO_SERVER = 0 as ServerId;

export function serverId(value: number): ServerId {
  return safe(value) as ServerId;
}

export function term(value: number): Term {
  return safe(value) as Term;
}

export function logIndex(value: number): LogIndex {
  return safe(value) as LogIndex;
}

export function nextIndex(index: LogIndex): LogIndex {
  return (index + 1) as LogIndex;
}

export function previousIndex(index: LogIndex): LogIndex {
  return (index - 1) as LogIndex;
}

export function nextTerm(value: Term): Term {
  return (value + 1) as Term;
}

export function maxTerm(a: Term, b: Term): Term {
  return a > b ? a : b;
}

export function minIndex(a: LogIndex, b: LogIndex): LogIndex {
  return a < b ? a : b;
}

export function maxIndex(a: LogIndex, b: LogIndex): LogIndex {
  return a > b ? a : b;
}

function safe(value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${value} is not an integer from 0 to 2^53 − 1`);
  return value;
}

export const EntryType = {
  /** A new leader's first entry; commits what its predecessors left. */
  noop: 0,
  command: 1,
  /** Who belongs to the ensemble from here on. */
  configuration: 2,
} as const;
export type EntryType = (typeof EntryType)[keyof typeof EntryType];

export interface Entry {
  readonly index: LogIndex;
  readonly term: Term;
  readonly type: EntryType;
  readonly data: Uint8Array;
}

/** What an entry costs in memory and in frames beside its data; without it a limit in bytes would not bound empty entries. */
export const ENTRY_OVERHEAD_BYTES = 64;

/** What an entry counts for in every limit of bytes. */
export function entryBytes(entry: Entry): number {
  return entry.data.length + ENTRY_OVERHEAD_BYTES;
}

export function totalBytes(entries: readonly Entry[]): number {
  let bytes = 0;
  for (const entry of entries) bytes += entryBytes(entry);
  return bytes;
}

/** An entry of so many bytes may hold thousands of operations, which take a server many milliseconds to apply. */
export const LONG_ENTRY_BYTES = 64 * 1024;

/** Whether it may take a server long to apply the entry. */
export function takesLong({ data }: Entry): boolean {
  return data.length >= LONG_ENTRY_BYTES;
}

export type Role = 'follower' | 'pre-candidate' | 'candidate' | 'leader';

/** What must be durable before a message reveals it. */
export interface HardState {
  readonly term: Term;
  /** NO_SERVER: nobody yet in this term. */
  readonly votedFor: ServerId;
}

/** A place in the log: what a snapshot holds is everything up to it. (0, 0) stands for before the log. */
export interface LogPosition {
  readonly index: LogIndex;
  readonly term: Term;
}

/** Where the state of a snapshot ends, and the configuration as of there, encoded. */
export interface SnapshotPosition extends LogPosition {
  readonly configuration: Uint8Array;
}

export const LOG_START: LogPosition = { index: 0 as LogIndex, term: 0 as Term };

export type Message =
  | { readonly type: 'pre-vote'; readonly term: Term; readonly lastIndex: LogIndex; readonly lastTerm: Term }
  /** `term` is the responder's own when refused, the asked one when granted. */
  | { readonly type: 'pre-vote-response'; readonly term: Term; readonly askedTerm: Term; readonly granted: boolean }
  | {
      readonly type: 'vote';
      readonly term: Term;
      readonly lastIndex: LogIndex;
      readonly lastTerm: Term;
      readonly transfer: boolean;
    }
  | { readonly type: 'vote-response'; readonly term: Term; readonly granted: boolean }
  | {
      readonly type: 'append';
      readonly term: Term;
      readonly prevIndex: LogIndex;
      readonly prevTerm: Term;
      readonly commit: LogIndex;
      readonly entries: readonly Entry[];
    }
  | {
      readonly type: 'append-response';
      readonly term: Term;
      readonly accepted: boolean;
      readonly index: LogIndex;
      /** Rejected: the responder's term at `index`, 0 when it has none. */
      readonly hintTerm: Term;
      /** Rejected: the prevIndex that was refused, so that the leader knows a stale refusal. */
      readonly refusedIndex: LogIndex;
      /** The responder wants to hear of commits at once (it has clients). */
      readonly eagerCommit: boolean;
    }
  | { readonly type: 'heartbeat'; readonly term: Term; readonly commit: LogIndex; readonly round: number }
  | { readonly type: 'heartbeat-response'; readonly term: Term; readonly round: number; readonly eagerCommit: boolean }
  | { readonly type: 'commit'; readonly term: Term; readonly commit: LogIndex }
  | { readonly type: 'timeout-now'; readonly term: Term };

export type MessageOf<Type extends Message['type']> = Extract<Message, { type: Type }>;
