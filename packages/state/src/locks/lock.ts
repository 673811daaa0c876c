/**
 * One lock that somebody holds: its container, its holders and those who wait. An idle lock does not exist. An acquire is a wait that
 * may become a hold, until it is gone; sessions' memories keep it after that, to answer a retry.
 */

import type { Acquire, LockRequest } from '@holdfast/protocol';

import type { Session } from '../sessions/session.ts';
import type { NodeSlot } from '../tree/node-store.ts';
import { AcquireList, type Listed } from './acquire-list.ts';
import type { LockKind } from './kinds/lock-kind.ts';
import { acquireBytes, type SessionAcquires } from './session-acquires.ts';
import { SharedHolders } from './shared-holders.ts';

export class Lock {
  readonly name: string;
  readonly kind: LockKind;
  /** The node whose children are the queue. */
  readonly container: NodeSlot;
  /** What each acquire adds to the list in its session's attach reply, at most. */
  readonly acquireBytes: number;
  readonly holders: AcquireList<QueuedAcquire>;
  readonly waiters = new AcquireList<QueuedAcquire>();

  constructor(name: string, kind: LockKind, container: NodeSlot) {
    this.name = name;
    this.kind = kind;
    this.container = container;
    this.acquireBytes = acquireBytes(name, kind);
    this.holders = kind.share === undefined ? new AcquireList() : new SharedHolders(kind.share);
  }

  /** Its holders, where there may be several. */
  get shared(): SharedHolders<QueuedAcquire> | undefined {
    return this.holders instanceof SharedHolders ? this.holders : undefined;
  }

  /** The lowest token of all who hold it; undefined where one holds at a time. */
  get floor(): number | undefined {
    return this.kind.share === undefined ? undefined : (this.holders.first?.token ?? 0);
  }

  /** Whether a request that comes now would hold at once. */
  admits(request: LockRequest): boolean {
    return this.waiters.size === 0 && this.kind.mayJoin(this.holders, request);
  }

  get idle(): boolean {
    return this.holders.size === 0 && this.waiters.size === 0;
  }
}

export class QueuedAcquire implements Listed<QueuedAcquire> {
  readonly session: Session;
  /** All that the session waits for and holds, this one among it until it is gone. */
  readonly siblings: SessionAcquires<QueuedAcquire>;
  readonly lock: Lock;
  /** What it asks of the lock; that of all others who ask without parameters. */
  request: LockRequest;
  /** The czxid of its node: what identifies it to clients. */
  readonly acquireIndex: number;
  readonly node: NodeSlot;
  /** Index of the entry that granted it, or has raised it since; 0 while it waits. Stays when the hold is gone. */
  token = 0;
  /** Stamp of that entry. */
  grantedAt = 0;

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
  ) {
    this.session = session;
    this.siblings = siblings;
    this.lock = lock;
    this.request = request;
    this.acquireIndex = acquireIndex;
    this.node = node;
  }

  get gone(): boolean {
    return this.list === undefined;
  }
}

/** As its session's client is told when it attaches. */
export function listedAcquire({ lock, acquireIndex, token }: QueuedAcquire): Acquire {
  const { name, floor } = lock;
  if (floor === undefined || token === 0) return { lock: name, acquireIndex, token };
  return { lock: name, acquireIndex, token, floor };
}
