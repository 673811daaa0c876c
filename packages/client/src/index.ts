/**
 * The Holdfast SDK: sessions, nodes, and locks whose every grant carries a fencing token.
 *
 * @example
 * const client = await connect({ servers: ['127.0.0.1:7101', '127.0.0.1:7102', '127.0.0.1:7103'] });
 * await client.lock('accounts/42').withLock(async (held) => {
 *   await store.put('42', value, { token: held.token });
 * });
 * await client.close();
 *
 * @packageDocumentation
 */

export type {
  Consistency,
  Deadlock,
  DeadlockStep,
  Holder,
  LockDelay,
  LockSummary,
  Member,
  MemberRole,
  MemberSummary,
  NodeEventType,
  QueueEntry,
  ReleaseRequest,
  SessionSummary,
  Stat,
} from '@holdfast/protocol';
export type { PlainLogger } from '@holdfast/runtime';
export type { Admin, DeadlockOptions, LockDetails, Members, ReleaseRequestOptions } from './admin.ts';
export type { Client, ClientStatus } from './client.ts';
export { connect, connectOperator } from './connect.ts';
export {
  DIAGNOSTICS_CHANNELS,
  type AcquireEnd,
  type AcquireMessage,
  type ClientEventMessage,
  type HoldMessage,
} from './diagnostics/channels.ts';
export * from './errors.ts';
export type {
  ClientEvent,
  ClientEventListener,
  ClientEventOf,
  ClientEvents,
  ClientState,
  ClientStateEvent,
  LongWaitEvent,
  ReleaseUnconfirmedEvent,
} from './events.ts';
export {
  asyncMutex,
  E_ALREADY_LOCKED,
  E_CANCELED,
  E_TIMEOUT,
  tryAcquire,
  withTimeout,
  type BoundedMutex,
  type EnsembleMutex,
  type Releaser,
} from './facades/async-mutex.ts';
export {
  fencedLock,
  INVALID_FENCE,
  type FencedLock,
  type FencedLockCallOptions,
  type FencedLockOptions,
} from './facades/hazelcast.ts';
export { redlock, type Redlock, type RedlockLock, type RedlockSettings } from './facades/redlock.ts';
export {
  webLocks,
  type WebLock,
  type WebLockInfo,
  type WebLockMode,
  type WebLockOptions,
  type WebLocks,
  type WebLocksSnapshot,
} from './facades/web-locks.ts';
export type { SessionLost } from './incarnations/session-lost.ts';
export type { HeldLock } from './locks/held-lock.ts';
export type { AcquireOptions, TryAcquireOptions, TryAcquireResult } from './locks/acquiring.ts';
export type { Lock } from './locks/lock.ts';
export type { DeadlockPolicy, LockOptions } from './locks/lock-options.ts';
export type { LockWait } from './locks/waits/lock-wait.ts';
export type { LockEvent, LockWatchOptions } from './locks/lock-watch.ts';
export type { ReadWriteLock } from './locks/read-write-lock.ts';
export type { ReentrantLock, ReentrantLockOptions, ReentrantTryAcquireResult } from './locks/reentrant-lock.ts';
export type {
  PermitOptions,
  Semaphore,
  SemaphoreAcquireOptions,
  SemaphoreOptions,
  SemaphoreTryAcquireOptions,
} from './locks/semaphore.ts';
export type { ReleaseRequested } from './locks/held/release-requested.ts';
export { tokenText } from './locks/token-text.ts';
export type { HoldMode } from './locks/wanted.ts';
export type { CreateOptions, NodeReads, Nodes, PageOptions, ReadOptions, VersionOptions } from './nodes.ts';
export type { OperatorClient, OperatorNodes } from './operator/operator-client.ts';
export type { OperatorOptions } from './operator/operator-options.ts';
export type { ConnectOptions } from './options.ts';
export type { ExitSignal } from './process/exit-signals.ts';
export type { ReleaseOnExitOptions } from './process/release-on-exit.ts';
export type { CampaignOptions, Election, Leader, ObserveOptions } from './recipes/election.ts';
export type { Barrier } from './recipes/barrier.ts';
export type { Counter } from './recipes/counter.ts';
export type { BarrierEntry, DoubleBarrier } from './recipes/double-barrier.ts';
export type { Group, GroupWatchOptions, JoinOptions, Membership } from './recipes/group.ts';
export type { Latch } from './recipes/latch.ts';
export type { ConsumeOptions, Queue } from './recipes/queue.ts';
export type { QueueItem } from './recipes/queue-item.ts';
export type { Term } from './recipes/term.ts';
export type { WaitOptions } from './recipes/waiting.ts';
export type { AdminOptions } from './session/channels/admin-pipeline.ts';
export type { AnswerSource } from './session/answer-source.ts';
export type { CallOptions } from './session/call.ts';
export type { NodeData, NodeKindOptions, NodeVersionOption } from './tree/node-arguments.ts';
export {
  check,
  create,
  remove,
  set,
  type TransactionOperation,
  type TransactionOutcome,
  type TransactionResult,
} from './tree/transaction.ts';
export type { NodeContent } from './tree/node-content.ts';
export type { ReadAndWatchOptions } from './watches/read-and-watch.ts';
export type { NodeChangeEvent, NodeWatch, NodeWatchEvent, ResyncEvent, WatchOptions } from './watches/node-watch.ts';
export type { ClientRuntime } from './session/session.ts';
