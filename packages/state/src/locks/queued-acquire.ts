/** One acquire: a wait that may become a hold, until it is gone. Sessions' memories keep it after that, to answer a retry. */

import type { Session } from '../sessions/session.ts';
import type { NodeSlot } from '../tree/node-store.ts';
import type { AcquireList } from './acquire-list.ts';
import type { Lock } from './lock.ts';

/** One that is gone, as a snapshot keeps it for the answer to a retry. */
export class PastAcquire {
  readonly lock: { readonly name: string };
  readonly acquireIndex: number;
  /** 0 when it still waited. */
  readonly token: number;
  readonly gone = true;

  constructor(lock: string, acquireIndex: number, token: number) {
    this.lock = { name: lock };
    this.acquireIndex = acquireIndex;
    this.token = token;
  }
}

export class QueuedAcquire {
  readonly session: Session;
  readonly lock: Lock;
  /** The czxid of its node: what identifies it to clients. */
  readonly acquireIndex: number;
  readonly node: NodeSlot;
  /** Index of the entry that granted it; 0 while it waits. Stays when the hold is gone. */
  token = 0;
  /** Stamp of that entry. */
  grantedAt = 0;

  /** The list that has it, the lock's waiters or its holders; undefined once it is gone. Kept by AcquireList. */
  list: AcquireList | undefined;
  previous: QueuedAcquire | undefined;
  next: QueuedAcquire | undefined;

  constructor(session: Session, lock: Lock, acquireIndex: number, node: NodeSlot) {
    this.session = session;
    this.lock = lock;
    this.acquireIndex = acquireIndex;
    this.node = node;
  }

  get gone(): boolean {
    return this.list === undefined;
  }
}

export function isPastOrPresent(value: object): value is QueuedAcquire | PastAcquire {
  return value instanceof QueuedAcquire || value instanceof PastAcquire;
}
