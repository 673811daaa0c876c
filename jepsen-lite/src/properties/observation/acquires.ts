/** The waits and holds that the outputs report, as a list in order of acquire indexes, one for each lock: the model behind several promises. */

import type { LockRequest } from '@holdfast/protocol';
import type { LockChange } from './lock-change.ts';

export interface ReportedAcquire {
  readonly session: number;
  readonly lock: string;
  readonly acquireIndex: number;
  /** 0 while it waits. */
  readonly token: number;
  readonly request: LockRequest;
}

/** What is left of `acquires` and what has come to them. */
export function changed(acquires: readonly ReportedAcquire[], change: LockChange): readonly ReportedAcquire[] {
  switch (change.type) {
    case 'removed':
      return acquires.filter((acquire) => !isAt(acquire, change));
    case 'ended':
      return acquires.filter(({ session }) => session !== change.session);
    case 'enqueued': {
      const { session, lock, acquireIndex, token, request } = change;
      return [...acquires, { session, lock, acquireIndex, token, request }];
    }
    case 'granted':
      return acquires.map((acquire) => (isAt(acquire, change) ? { ...acquire, token: change.token } : acquire));
    case 'downgraded':
      return acquires.map((acquire) => (isAt(acquire, change) ? { ...acquire, request: change.request } : acquire));
  }
}

interface Place {
  readonly lock: string;
  readonly acquireIndex: number;
}

function isAt(acquire: ReportedAcquire, { lock, acquireIndex }: Place): boolean {
  return acquire.acquireIndex === acquireIndex && acquire.lock === lock;
}

/** By which each acquire is known: the first of its locks, in order of their names. */
export function leads<P extends Place>(places: readonly P[]): readonly P[] {
  return places.filter(
    (place) => !places.some((other) => other.acquireIndex === place.acquireIndex && other.lock < place.lock),
  );
}
