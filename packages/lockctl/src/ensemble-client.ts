/** What lockctl uses of the SDK, as an interface, so that commands are tested without servers. */

import type { NodeContent, TransactionOperation, TransactionOutcome } from '@holdfast/client';
import type {
  Deadlock,
  LockDelay,
  LockSummary,
  MemberSummary,
  QueueEntry,
  SessionSummary,
  Stat,
} from '@holdfast/protocol';

export interface HeldLock {
  readonly token: number;
  readonly signal: AbortSignal;
  assertHeld(): void;
  release(): Promise<void>;
}

export interface LockHolder {
  readonly session: number;
  readonly label: string;
  /** 0 for one who waits for another lock, too, and is before. With session 0 that of a holder who was lost: the lock is delayed. */
  readonly token: number;
}

export type LockAttempt =
  | { readonly acquired: true; readonly held: HeldLock }
  | { readonly acquired: false; readonly reason: string; readonly holder?: LockHolder | undefined };

/** What can be acquired: a lock, a side of a read-write lock, permits of a semaphore, or several of them at once. */
export interface Lockable {
  acquire(options: { readonly signal: AbortSignal }): Promise<HeldLock>;
  tryAcquire(options: { readonly waitMs: number; readonly signal: AbortSignal }): Promise<LockAttempt>;
}

export interface MembersAnswer {
  readonly leader: number;
  readonly members: readonly MemberSummary[];
}

/** Where an answer comes from: `index` is that of the newest entry that it may show. */
export interface AnswerSource {
  readonly server: number;
  readonly address: string;
  readonly index: number;
}

export interface ReadOptions {
  readonly onAnswer?: (source: AnswerSource) => void;
  readonly timeoutMs?: number;
}

interface LockQueue {
  /** Its number; a server of a later version may have one that is not known here. */
  readonly kind: number;
  readonly holders: readonly QueueEntry[];
  /** In the order in which they will be granted. */
  readonly waiters: readonly QueueEntry[];
  readonly truncated: boolean;
  readonly delay?: LockDelay | undefined;
}

interface DeadlockOptions extends ReadOptions {
  /** Is called with the number of waits that were not looked at to the end. */
  readonly onSkipped?: (waits: number) => void;
}

interface ReleaseRequestOptions {
  readonly withinMs: number;
  readonly atDeadline: 'revoke' | 'leave';
  readonly hold?: number;
}

export type NodeWatchEvent =
  | { readonly type: 'created' | 'changed' | 'deleted' | 'children'; readonly path: string; readonly index: number }
  | { readonly type: 'resync'; readonly path: string; readonly from: number; readonly index: number };

export interface WatchOptions {
  readonly recursive: boolean;
  readonly from?: number;
  readonly onMissed: 'resync';
  readonly signal: AbortSignal;
}

/** For how long the next grant of a lock waits when the hold was lost. */
interface LockDelayOption {
  readonly lockDelayMs: number;
}

/** It has a session. */
export interface EnsembleClient {
  lock(name: string, options?: LockDelayOption): Lockable;
  readWriteLock(name: string, options: LockDelayOption): { read(): Lockable; write(): Lockable };
  semaphore(
    name: string,
    options: LockDelayOption & { readonly permits: number },
  ): { lock(options: { readonly permits: number }): Lockable };
  /** All of them at once. */
  locks(locks: readonly (string | Lockable)[]): Lockable;
  readonly nodes: {
    create(
      path: string,
      data: Uint8Array,
      options: { readonly sequential: boolean; readonly container: boolean; readonly ttlMs?: number },
    ): Promise<{ path: string; stat: Stat }>;
    transaction(operations: readonly TransactionOperation[]): Promise<TransactionOutcome>;
    set(path: string, data: Uint8Array, options: { readonly version?: number }): Promise<Stat>;
    get(path: string, options: ReadOptions): Promise<NodeContent>;
    delete(path: string, options: { readonly version?: number }): Promise<void>;
    watch(path: string, options: WatchOptions): AsyncIterable<NodeWatchEvent>;
  };
  readonly admin: { lock(name: string, options?: ReadOptions): Promise<LockQueue> };
  close(): Promise<void>;
}

/** It needs no session. */
export interface OperatorClient {
  readonly nodes: {
    get(path: string, options: ReadOptions): Promise<NodeContent>;
    exists(path: string, options: ReadOptions): Promise<Stat | undefined>;
    children(path: string, options: ReadOptions): Promise<{ readonly names: readonly string[]; readonly stat: Stat }>;
    delete(path: string, options: { readonly version?: number }): Promise<void>;
  };
  readonly admin: {
    locks(prefix: string | undefined, options: ReadOptions): AsyncIterable<LockSummary>;
    lock(name: string, options: ReadOptions): Promise<LockQueue>;
    sessions(options: ReadOptions): AsyncIterable<SessionSummary>;
    closeSession(session: number): Promise<void>;
    deadlocks(options: DeadlockOptions): AsyncIterable<Deadlock>;
    requestRelease(lock: string, token: number, options: ReleaseRequestOptions): Promise<void>;
    revoke(lock: string, token: number, options: { readonly hold?: number }): Promise<{ readonly index: number }>;
    endLockDelay(lock: string): Promise<{ readonly index: number }>;
    /** Resolves with the server that leads then. */
    transferLeadership(server: number | undefined): Promise<number>;
    members(options: ReadOptions): Promise<MembersAnswer>;
    addMember(
      server: number,
      peerAddress: string,
      options: { readonly observer: boolean; readonly joinSecret: string },
    ): Promise<MembersAnswer>;
    promoteMember(server: number): Promise<MembersAnswer>;
    removeMember(server: number): Promise<MembersAnswer>;
  };
  close(): Promise<void>;
}

export interface OperatorRequest {
  readonly servers: readonly string[];
  /** Bounds connecting and each request's answer. */
  readonly timeoutMs: number;
  readonly label: string;
  /** Any server may answer, from what it has. */
  readonly stale: boolean;
}

export interface ConnectRequest {
  readonly servers: readonly string[];
  readonly connectTimeoutMs: number;
  /** Bounds each request's answer. */
  readonly timeoutMs: number;
  readonly sessionTimeoutMs?: number;
  readonly label: string;
}
