/**
 * One recorded run, as data: what applications called and were answered, what happened to them, and what the servers did, in one order.
 * Simulated and real ensembles record the same format, and the same checkers judge it. The types here are the whole of the format;
 * json-lines.ts keeps it on disk, and says where a file is damaged.
 */

import type { Consistency, EndReason, LockRequest, LossReason } from '@holdfast/protocol';

export type History = readonly HistoryEvent[];

export interface Stamp {
  /** Rises strictly over the run: an event happened before another exactly when its number is smaller. */
  readonly seq: number;
  /** Of the harness, not of the process: virtual time, or a monotonic clock. */
  readonly timeMs: number;
  /** Who it happened to: an application, a server, or the one who makes the faults. */
  readonly process: string;
}

/** What an application asked for. Its completion repeats it. */
export type Operation =
  | {
      readonly f: 'acquire';
      readonly lock: string;
      readonly session: number;
      readonly waitMs?: number;
      /** @default a mutex */
      readonly asked?: LockRequest;
      /** The other locks that the same acquire takes, which is told as one call for each of its locks: they have one hold and one token. */
      readonly others?: readonly string[];
      /** For so long nobody is granted the lock when this hold of it is lost. @default not at all */
      readonly delayMs?: number;
    }
  | {
      readonly f: 'release';
      readonly lock: string;
      readonly session: number;
      readonly token: number;
      readonly hold: number;
    }
  /** A hold to write becomes one to read. */
  | {
      readonly f: 'downgrade';
      readonly lock: string;
      readonly session: number;
      readonly token: number;
      readonly hold: number;
    }
  /**
   * Acquires a lock that its owner may hold already, up to `limit` times: then it is the same hold once more. `owner` stands for the lock
   * object of the SDK, which counts.
   */
  | {
      readonly f: 'enter';
      readonly lock: string;
      readonly session: number;
      readonly owner: string;
      readonly limit: number;
      readonly waitMs?: number;
    }
  /** Gives one entry back; the lock is released with the last one. */
  | {
      readonly f: 'leave';
      readonly lock: string;
      readonly session: number;
      readonly owner: string;
      readonly token: number;
      readonly hold: number;
    }
  /** Installs a token at the fenced store, before its holder reads. */
  | { readonly f: 'fence'; readonly bucket: string; readonly token: number }
  /** At a store without a fence, `token` is the writer's all the same, though nobody looks at it. */
  | {
      readonly f: 'put';
      readonly bucket: string;
      readonly key: string;
      readonly value: string;
      readonly token: number;
    }
  /** `hold`: of the lock under which it was read, where others may read beside it. */
  | {
      readonly f: 'get';
      readonly bucket: string;
      readonly key: string;
      readonly token?: number;
      readonly hold?: number;
    }
  /** Installs a token at a bucket of the replicated store. */
  | { readonly f: 'kv-fence'; readonly bucket: string; readonly token: number }
  | { readonly f: 'kv-get'; readonly bucket: string; readonly key: string; readonly token?: number }
  | {
      readonly f: 'kv-put';
      readonly bucket: string;
      readonly key: string;
      /** Of this call alone. */
      readonly value: string;
      readonly token?: number;
      readonly expected?: ExpectedKey;
    }
  | {
      readonly f: 'kv-delete';
      readonly bucket: string;
      readonly key: string;
      readonly token?: number;
      readonly expected?: ExpectedKey;
    }
  | {
      readonly f: 'create';
      readonly path: string;
      readonly value: string;
      /** It goes when it has had neither children nor a change for so long. */
      readonly ttlMs?: number;
      /** It goes some time after its last child. */
      readonly container?: true;
      readonly session?: number;
    }
  | {
      readonly f: 'set';
      readonly path: string;
      readonly value: string;
      /** The version that the node must have; none: any. */
      readonly version?: number;
      readonly session?: number;
    }
  | { readonly f: 'delete'; readonly path: string; readonly version?: number; readonly session?: number }
  | { readonly f: 'read'; readonly path: string; readonly consistency: Consistency; readonly session?: number }
  /** `path` is what the ensemble appends a number to. */
  | { readonly f: 'create-sequential'; readonly path: string; readonly value: string; readonly session?: number }
  /** All of these operations, or none. */
  | {
      readonly f: 'transaction';
      readonly operations: readonly TransactionStep[];
      readonly session?: number;
    }
  /** The children of a node, linearizably. */
  | { readonly f: 'list'; readonly path: string; readonly session?: number }
  /** Who holds a lock, linearizably. */
  | { readonly f: 'status'; readonly lock: string; readonly session?: number };

/** The revision that a key must have, and the value with which it had been read; null: there must be none. */
export interface ExpectedKey {
  readonly revision: number | null;
  readonly value: string | null;
}

/** An operation of a transaction. */
export type TransactionStep =
  | { readonly op: 'check'; readonly path: string; readonly version: number }
  | { readonly op: 'create'; readonly path: string; readonly value: string; readonly sequential?: true }
  | { readonly op: 'set'; readonly path: string; readonly value: string; readonly version: number }
  | { readonly op: 'remove'; readonly path: string; readonly version: number };

export type OperationName = Operation['f'];

type OperationOf<F extends OperationName> = Extract<Operation, { readonly f: F }>;

/** An operation that had its effect, with what the application was answered. */
export type Outcome =
  /** `hold` is the acquire index, which names the hold at the ensemble. */
  | (OperationOf<'acquire'> & { readonly token: number; readonly hold: number })
  | OperationOf<'release'>
  | OperationOf<'downgrade'>
  | (OperationOf<'enter'> & { readonly token: number; readonly hold: number })
  | OperationOf<'leave'>
  | OperationOf<'fence'>
  | OperationOf<'put'>
  /** null: there is no such key. */
  | (OperationOf<'get'> & { readonly value: string | null })
  /** `epoch`: of the primary that has answered. */
  | (OperationOf<'kv-fence'> & { readonly epoch: number })
  /** null: there is no such key. */
  | (OperationOf<'kv-get'> & {
      readonly value: string | null;
      readonly revision: number | null;
      readonly epoch: number;
    })
  | (OperationOf<'kv-put'> & { readonly revision: number; readonly epoch: number })
  | (OperationOf<'kv-delete'> & { readonly epoch: number })
  | OperationOf<'create'>
  /** `newVersion` is the one that the node has by it. */
  | (OperationOf<'set'> & { readonly newVersion?: number })
  | OperationOf<'delete'>
  /** null: there is no such node. */
  | (OperationOf<'read'> & { readonly value: string | null; readonly version?: number })
  /** `created` is the node's path. */
  | (OperationOf<'create-sequential'> & { readonly created: string })
  /** `results`: of each operation, the path of what it created, the version of what it set, or null. `index`: of the entry. */
  | (OperationOf<'transaction'> & {
      readonly index: number;
      readonly results: readonly (string | number | null)[];
    })
  /** null: there is no such node. */
  | (OperationOf<'list'> & { readonly names: readonly string[] | null })
  /** `holder` is a session; null, with the token 0: nobody holds it. */
  | (OperationOf<'status'> & { readonly holder: number | null; readonly token: number });

/** `invoke`, and later at most one of `ok`, `fail` and `info` with the same `call`. */
export type InvokeEvent = { readonly type: 'invoke'; readonly call: number } & Operation;
export type OkEvent = { readonly type: 'ok'; readonly call: number } & Outcome;
export type FailedEvent = {
  /**
   * `fail`: it had no effect and will have none; an acquire that timed out or was aborted leaves none once its cancel has come to
   * its end. `info`: nobody can tell; it may take effect at any later time, or never.
   */
  readonly type: 'fail' | 'info';
  readonly call: number;
  /** Of the error: TIMEOUT, ABORTED, LOCK_HELD, SESSION_EXPIRED, STALE_TOKEN and so on. */
  readonly code: string;
  /** The operation because of which a transaction has failed; the first is 0. */
  readonly place?: number;
  /** What the fenced store answered, with STALE_TOKEN. */
  readonly highest?: number;
} & Operation;
export type CompletionEvent = OkEvent | FailedEvent;

/** What happened to an application, and around it. */
export type Happening =
  | {
      readonly type: 'session';
      /** `reconnected`: after its connection was lost; crowds alone tell it. */
      readonly event: 'connected' | 'reconnected' | 'expired' | 'closed';
      readonly session: number;
      readonly timeoutMs?: number;
    }
  /** A renewal of the session that was sent at `sentMs` of the harness's time has been acknowledged. */
  | { readonly type: 'renewed'; readonly session: number; readonly sentMs: number }
  /** `assertHeld()` has just passed. */
  | {
      readonly type: 'believe';
      readonly lock: string;
      readonly session: number;
      readonly token: number;
      readonly hold: number;
    }
  /** The application was notified, or `assertHeld()` threw. */
  | {
      readonly type: 'lost';
      readonly lock: string;
      readonly session: number;
      readonly token: number;
      readonly hold: number;
      readonly reason: EndReason;
    }
  /**
   * A watch of everything below a node has told something: `started` with the index behind which it tells, `resync` where what happened
   * behind `from` and up to the index is missed, `left` when nobody listens any more. `watch` is its number in the run.
   */
  | {
      readonly type: 'watched';
      readonly watch: number;
      readonly event: 'started' | 'created' | 'changed' | 'deleted' | 'resync' | 'left';
      readonly path: string;
      readonly index: number;
      readonly from?: number;
    }
  /** An answer has shown the application that the node was created or changed last by the entry at that index. */
  | {
      readonly type: 'shown';
      readonly by: 'write' | 'read';
      readonly path: string;
      readonly index: number;
    }
  /** The cancel in the background of an acquire that timed out or was aborted has come to its end. */
  | { readonly type: 'cancelled'; readonly call: number }
  /** `hosts`: whom it strikes, joined by commas, where it has names for them; its end repeats them. */
  | { readonly type: 'fault'; readonly fault: string; readonly phase: 'begin' | 'end'; readonly hosts?: string }
  /** What a replica of the store has of a key, when everything is over and it has been stopped. The process is the replica. */
  | {
      readonly type: 'kept';
      readonly bucket: string;
      readonly key: string;
      readonly value: string;
      readonly revision: number;
    }
  /** The same of all that it has, as one: equal for equal buckets, with their tokens and revisions. */
  | { readonly type: 'kept-all'; readonly keys: number; readonly digest: string }
  /** `healed`: no fault is left and none will come. `quiet`: applications start nothing new. */
  | { readonly type: 'phase'; readonly phase: 'faults' | 'healed' | 'quiet' };

/**
 * What the servers did, in log order: recorded once, when the first server applied the index. An application that was notified of
 * something was notified later. All that an entry did has its index.
 */
export type LogEvent =
  /** An acquire entered the queue of its lock; its index is its hold. Also where it was granted at once. One of several locks enters as many. */
  | {
      readonly type: 'enqueued';
      readonly index: number;
      readonly lock: string;
      readonly session: number;
      readonly hold: number;
      /** @default a mutex */
      readonly asked?: LockRequest;
    }
  | {
      readonly type: 'granted';
      readonly index: number;
      readonly lock: string;
      readonly session: number;
      readonly hold: number;
      readonly token: number;
      /** @default a mutex */
      readonly asked?: LockRequest;
    }
  /** Who held it to write holds it to read from here on. */
  | {
      readonly type: 'downgraded';
      readonly index: number;
      readonly lock: string;
      readonly session: number;
      readonly hold: number;
    }
  /**
   * A wait or hold left its queue. `expired`, `closed`: with its session; `revoked`: by an operator, with or without the session; `deadlock`: a
   * wait, to break one.
   */
  | {
      readonly type: 'removed';
      readonly index: number;
      readonly lock: string;
      readonly session: number;
      readonly hold: number;
      readonly reason: RemovalReason;
    }
  | { readonly type: 'ended-session'; readonly index: number; readonly session: number; readonly reason: EndReason };

/** The configuration of a group of replicas has changed. `version`: of its node, 0 for the first one. */
export type ConfigurationEvent = {
  readonly type: 'configured';
  readonly index: number;
  readonly group: string;
  readonly version: number;
  readonly epoch: number;
  readonly primary: string;
  readonly inSync: readonly string[];
};

/** What a committed entry did. */
export type EntryEvent = LogEvent | ConfigurationEvent;

export type RemovalReason = 'released' | 'cancelled' | LossReason;

/**
 * A server leads that term from here on, or has been seen to lead it no longer: by every step of its core where the harness sees those, else
 * whenever it was asked. Of two that lead at once, only the one with the higher term can commit.
 */
export type LeadershipEvent = { readonly type: 'leadership'; readonly phase: 'begin' | 'end'; readonly term: number };

/** What the fenced store did, in its own order, where the harness sees it: a token that it accepted. */
export type StoreEvent = {
  readonly type: 'accepted';
  readonly f: 'fence' | 'put';
  readonly bucket: string;
  readonly token: number;
};

export type HistoryEventBody = InvokeEvent | CompletionEvent | Happening | EntryEvent | LeadershipEvent | StoreEvent;

export type HistoryEvent = Stamp & HistoryEventBody;

/** Buckets of this name have no fence: writes there are the control, which must go wrong at times. */
export const UNFENCED_BUCKET = 'unfenced';
