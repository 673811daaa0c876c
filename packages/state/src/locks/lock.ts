/**
 * One lock that somebody holds, or waits for, or that is delayed: its container, its holders and those who wait. An idle lock does not exist. An
 * acquire is a wait that may become a hold, until it is gone; sessions' memories keep it after that, to answer a retry.
 */

import type { LockRequest, ReleaseRequest } from '@holdfast/protocol';

import type { Session } from '../sessions/session.ts';
import type { NodeSlot } from '../tree/node-store.ts';
import { AcquireList, type Listed } from './acquire-list.ts';
import type { AcquireOptions } from './acquire-options.ts';
import type { LockKind } from './kinds/lock-kind.ts';
import type { LockDelay } from './lock-delay.ts';
import { acquireBytes, type SessionAcquires } from './session-acquires.ts';

export class Lock {
  readonly name: string;
  readonly kind: LockKind;
  /** The node whose children are the queue. */
  readonly container: NodeSlot;
  /** What each acquire adds to the list in its session's attach reply, at most. */
  readonly acquireBytes: number;
  readonly holders = new AcquireList<QueuedAcquire>();
  readonly waiters = new AcquireList<QueuedAcquire>();
  /** Nobody is granted it while there is one. Kept by DelayedLocks. */
  delay: LockDelay | undefined;
  /** Its queue has changed so that somebody else may hold it, which has not been looked at yet. Kept by LockTable. */
  touched = false;
  /** What is still to be reported of the entry that is being applied: the floor before it, 0 where no holder has left... */
  floorBefore = 0;
  /** ...that the lock is delayed, or for longer... */
  delayIsNew = false;
  /** ...and that some who waited were granted it. */
  grantsAreNew = false;

  constructor(name: string, kind: LockKind, container: NodeSlot) {
    this.name = name;
    this.kind = kind;
    this.container = container;
    this.acquireBytes = acquireBytes(name);
  }

  /** Whether a request that comes now would hold at once, as far as this lock goes. */
  admits(request: LockRequest): boolean {
    if (this.delay !== undefined) return false;
    return this.waiters.size === 0 && this.kind.mayJoin(this.holders, request);
  }

  /** The lowest token under which it is held: tokens rise in queue order. 0 while nobody holds it. */
  get floor(): number {
    return this.holders.first?.token ?? 0;
  }

  /** Who holds it, or waits for it longest where nobody does; nobody, where it is delayed. */
  get first(): QueuedAcquire | undefined {
    return this.holders.first ?? this.waiters.first;
  }

  get idle(): boolean {
    return this.holders.size === 0 && this.waiters.size === 0 && this.delay === undefined;
  }
}

/** An acquire in the queue of one lock. One of several locks is in as many queues, with one index, and is granted and removed in all at once. */
export class QueuedAcquire implements Listed<QueuedAcquire> {
  readonly session: Session;
  /** All that the session waits for and holds, this one among it until it is gone. */
  readonly siblings: SessionAcquires<QueuedAcquire>;
  readonly lock: Lock;
  /** What it asks of the lock; that of all others who ask without parameters. Changes where a hold becomes another. */
  request: LockRequest;
  /** The czxid of its node: what identifies it to clients. */
  readonly acquireIndex: number;
  readonly node: NodeSlot;
  readonly options: AcquireOptions;
  /** Of an acquire of several locks: all its places, in order of the locks' names. Undefined for one of one lock. */
  parts: readonly QueuedAcquire[] | undefined;
  /** Index of the entry that granted it; 0 while it waits. Stays when the hold is gone. */
  token = 0;
  /** Stamp of that entry. */
  grantedAt = 0;
  /** That the hold is to be released; of several locks {@link lead} has it. Undefined when nobody has asked. Kept by LockTable. */
  releaseRequest: ReleaseRequest | undefined;

  /** The list that has it, the lock's waiters or its holders; undefined once it is gone. Kept by AcquireList. */
  list: AcquireList<QueuedAcquire> | undefined;
  previous: QueuedAcquire | undefined;
  next: QueuedAcquire | undefined;

  constructor(
    session: Session,
    siblings: SessionAcquires<QueuedAcquire>,
    lock: Lock,
    request: LockRequest,
    acquireIndex: number,
    node: NodeSlot,
    options: AcquireOptions,
  ) {
    this.session = session;
    this.siblings = siblings;
    this.lock = lock;
    this.request = request;
    this.acquireIndex = acquireIndex;
    this.node = node;
    this.options = options;
  }

  get gone(): boolean {
    return this.list === undefined;
  }

  get weight(): number {
    return this.lock.kind.weight(this.request);
  }

  /** Whether others may hold that lock beside it. */
  get isShared(): boolean {
    return this.lock.kind.isShared(this.request);
  }

  /** Of a hold: the lowest token that is live on those of its locks that others may hold, too; 0 where it holds each alone, and for a wait. */
  get floor(): number {
    if (this.token === 0) return 0;
    if (this.parts === undefined) return this.isShared ? this.lock.floor : 0;
    let lowest = 0;
    for (const part of this.parts) {
      if (part.isShared && (lowest === 0 || part.lock.floor < lowest)) lowest = part.lock.floor;
    }
    return lowest;
  }

  /** By which its session and its client know it. */
  get lead(): QueuedAcquire {
    return this.parts?.[0] ?? this;
  }

  /** In how many queues it is. */
  get places(): number {
    return this.parts?.length ?? 1;
  }

  /** Its place in the queue of that lock. */
  partAt(lock: string): QueuedAcquire | undefined {
    if (this.parts === undefined) return this.lock.name === lock ? this : undefined;
    return this.parts.find((part) => part.lock.name === lock);
  }

  /** Whether it waits at the head of every one of its queues, and may hold each lock beside those who do. */
  get grantable(): boolean {
    return this.parts === undefined ? isNext(this) : this.parts.every(isNext);
  }
}

function isNext(acquire: QueuedAcquire): boolean {
  const { lock, request } = acquire;
  if (lock.delay !== undefined) return false;
  return lock.waiters.first === acquire && lock.kind.mayJoin(lock.holders, request);
}
