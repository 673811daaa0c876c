// A client whose lock the test grants, loses and revokes, and whose other calls answer from what the test put in.

import type { TransactionOutcome } from '@holdfast/client';
import type { Deadlock, LockDelay, LockSummary, QueueEntry, SessionSummary, Stat } from '@holdfast/protocol';

import type {
  AnswerSource,
  EnsembleClient,
  HeldLock,
  Lockable,
  LockAttempt,
  MembersAnswer,
  NodeWatchEvent,
  OperatorClient,
  ReadOptions,
  WatchOptions,
} from '../../src/ensemble-client.ts';

export class CodedError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export class FakeHeld implements HeldLock {
  readonly token: number;
  released = 0;
  releaseFailure: Error | undefined;
  readonly #lost = new AbortController();

  constructor(token: number) {
    this.token = token;
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  assertHeld(): void {
    if (this.signal.aborted) throw new CodedError('LOCK_LOST', 'the lock is lost');
  }

  release(): Promise<void> {
    this.released += 1;
    return this.releaseFailure === undefined ? Promise.resolve() : Promise.reject(this.releaseFailure);
  }

  lose(): void {
    this.#lost.abort(new CodedError('LOCK_LOST', 'the lock is lost'));
  }
}

/** In words. */
interface FakeLockable extends Lockable {
  readonly what: string;
}

interface Delayed {
  readonly lockDelayMs: number;
}

function delayed(what: string, { lockDelayMs }: Delayed): string {
  return lockDelayMs === 0 ? what : `${what}, delayed by ${lockDelayMs} ms when lost`;
}

const STAT: Stat = {
  czxid: 7,
  mzxid: 9,
  pzxid: 7,
  ctime: 0,
  mtime: 1_000,
  version: 2,
  cversion: 0,
  aversion: 0,
  ephemeralOwner: 0,
  dataLength: 5,
  numChildren: 0,
};

/** With a session, and without. */
export class FakeClient implements EnsembleClient, OperatorClient {
  closed = 0;
  /** With what every call ends, if any. */
  failure: Error | undefined;
  readonly calls: unknown[][] = [];
  /** What the lock answers; by default it is held at once. */
  attempt: (signal: AbortSignal) => Promise<LockAttempt>;
  summaries: LockSummary[] = [];
  kind = 0;
  holders: QueueEntry[] = [];
  waiters: QueueEntry[] = [];
  delay: LockDelay | undefined;
  sessionSummaries: SessionSummary[] = [];
  deadlocks: Deadlock[] = [];
  /** Waits that were not looked at to the end. */
  skipped = 0;
  members: MembersAnswer = { leader: 0, members: [] };
  data = new Uint8Array();
  traits = { hasData: true, container: false, ttlMs: undefined };
  /** What a transaction did. */
  outcome: TransactionOutcome = { index: 12, results: [] };
  stat: Stat | undefined = STAT;
  names: string[] = [];
  nodeEvents: NodeWatchEvent[] = [];
  /** After those it waits, until its signal ends it. */
  watchForever = false;
  watchFailure: Error | undefined;
  /** Where answers come from. */
  source: AnswerSource = { server: 2, address: 'h:7102', index: 90 };

  constructor(held: HeldLock = new FakeHeld(41)) {
    this.attempt = () => Promise.resolve({ acquired: true, held });
  }

  lock(name: string, options: Delayed = { lockDelayMs: 0 }): FakeLockable {
    return this.#lockable(delayed(name, options));
  }

  readWriteLock(name: string, options: Delayed): { read(): FakeLockable; write(): FakeLockable } {
    const lockable = (how: string): FakeLockable => this.#lockable(delayed(`${name} to ${how}`, options));
    return { read: () => lockable('read'), write: () => lockable('write') };
  }

  semaphore(
    name: string,
    { permits: limit, ...options }: Delayed & { readonly permits: number },
  ): { lock(options: { readonly permits: number }): FakeLockable } {
    return { lock: ({ permits }) => this.#lockable(delayed(`${permits} of ${limit} ${name}`, options)) };
  }

  locks(locks: readonly (string | Lockable)[]): FakeLockable {
    return this.#lockable(locks.map((lock) => (lock as FakeLockable).what).join(' + '));
  }

  readonly nodes: EnsembleClient['nodes'] & OperatorClient['nodes'] = {
    create: (path, data, options) => this.#answer(['create', path, text(data), options], { path, stat: STAT }),
    get: (path, options) => this.#read(options, ['get', path], { data: this.data, stat: STAT, ...this.traits }),
    transaction: (operations) => this.#answer(['transaction', operations], this.outcome),
    exists: (path, options) => this.#read(options, ['exists', path], this.stat),
    watch: (path, options) => this.#watch(path, options),
    set: (path, data, options) => this.#answer(['set', path, text(data), options], STAT),
    delete: (path, options) => this.#answer(['delete', path, options], undefined),
    children: (path, options) => this.#read(options, ['children', path], { names: this.names, stat: STAT }),
  };

  readonly admin: {
    -readonly [K in keyof OperatorClient['admin']]: OperatorClient['admin'][K];
  } & EnsembleClient['admin'] = {
    locks: (prefix, options) => {
      options.onAnswer?.(this.source);
      this.calls.push(['locks', prefix]);
      return iterate(this.summaries);
    },
    lock: (name, options) => {
      const { kind, holders, waiters, delay } = this;
      return this.#read(options, ['show', name], { kind, holders, waiters, truncated: false, delay });
    },
    sessions: (options) => {
      options.onAnswer?.(this.source);
      return iterate(this.sessionSummaries);
    },
    deadlocks: (options) => {
      options.onAnswer?.(this.source);
      if (this.skipped > 0) options.onSkipped?.(this.skipped);
      return iterate(this.deadlocks);
    },
    requestRelease: (lock, token, options) => this.#answer(['requestRelease', lock, token, options], undefined),
    closeSession: (session) => this.#answer(['closeSession', session], undefined),
    revoke: (lock, token, options) => this.#answer(['revoke', lock, token, options], { index: 60 }),
    endLockDelay: (lock) => this.#answer(['endLockDelay', lock], { index: 61 }),
    transferLeadership: (server) => this.#answer(['transferLeadership', server], server ?? 3),
    members: (options) => this.#read(options, ['members'], this.members),
    addMember: (server, peerAddress, options) =>
      this.#answer(['addMember', server, peerAddress, options], this.members),
    promoteMember: (server) => this.#answer(['promoteMember', server], this.members),
    removeMember: (server) => this.#answer(['removeMember', server], this.members),
  };

  close(): Promise<void> {
    this.closed += 1;
    return Promise.resolve();
  }

  async *#watch(path: string, { signal, ...options }: WatchOptions): AsyncGenerator<NodeWatchEvent> {
    this.calls.push(['watch', path, options]);
    yield* this.nodeEvents;
    if (this.watchFailure !== undefined) throw this.watchFailure;
    if (this.watchForever) {
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    }
  }

  #lockable(what: string): FakeLockable {
    return {
      what,
      acquire: async ({ signal }) => {
        this.calls.push(['acquire', what]);
        const attempt = await this.attempt(signal);
        if (attempt.acquired) return attempt.held;
        throw new CodedError('TIMEOUT', 'not acquired');
      },
      tryAcquire: ({ waitMs, signal }) => {
        this.calls.push(['tryAcquire', what, waitMs]);
        return this.attempt(signal);
      },
    };
  }

  #read<T>(options: ReadOptions | undefined, call: unknown[], answer: T): Promise<T> {
    options?.onAnswer?.(this.source);
    return this.#answer(call, answer);
  }

  #answer<T>(call: unknown[], answer: T): Promise<T> {
    this.calls.push(call);
    return this.failure === undefined ? Promise.resolve(answer) : Promise.reject(this.failure);
  }
}

async function* iterate<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

function text(data: Uint8Array): string {
  return new TextDecoder().decode(data);
}
