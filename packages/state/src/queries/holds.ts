/** What the servers look up for those who hold locks: no query of a client. What of it changes, outputs have said before. */

import type { QueuedAcquire } from '../locks/lock.ts';
import type { State } from '../state.ts';

/** A delay that the leader is to end. */
export interface PendingDelay {
  readonly lock: string;
  readonly index: number;
  readonly delayMs: number;
}

/** One hold, of one lock. */
export interface HeldPlace {
  readonly session: number;
  readonly lock: string;
  /** By which the client knows it; others of its locks have the same. */
  readonly acquireIndex: number;
  /** The lowest token that is live on the lock; 0 where the lock is held alone. */
  readonly floor: number;
  /** Somebody waits for the lock. */
  readonly contended: boolean;
}

export interface LockHolds {
  readonly holds: readonly HeldPlace[];
  /** There are others behind these. */
  readonly more: boolean;
}

export function lockDelays({ locks }: State): readonly PendingDelay[] {
  return locks.delayed.inOrder().flatMap(({ name, delay }) => {
    return delay === undefined ? [] : [{ lock: name, index: delay.index, delayMs: delay.delayMs }];
  });
}

export function lockHolds({ locks }: State, name: string, after: number, count: number): LockHolds | undefined {
  const lock = locks.get(name);
  if (lock === undefined || lock.holders.size === 0) return undefined;
  const holds: HeldPlace[] = [];
  for (const holder of lock.holders) {
    if (holder.acquireIndex <= after) continue;
    if (holds.length === count) return { holds, more: true };
    holds.push(placeOf(holder));
  }
  return { holds, more: false };
}

export function sessionHolds({ sessions, locks }: State, id: number): readonly HeldPlace[] {
  const session = sessions.get(id);
  if (session === undefined) return [];
  const held = locks
    .acquiresOf(session)
    .inOrder()
    .filter(({ token }) => token !== 0);
  return held.flatMap((acquire) => (acquire.parts ?? [acquire]).map(placeOf));
}

function placeOf({ session, lock, acquireIndex, isShared }: QueuedAcquire): HeldPlace {
  const contended = lock.waiters.size > 0;
  return { session: session.id, lock: lock.name, acquireIndex, floor: isShared ? lock.floor : 0, contended };
}
