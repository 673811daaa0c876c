/** The waits and holds that the outputs report, as a list in order of acquire indexes: the model behind several promises. */

import type { LockRequest } from '@holdfast/protocol';
import type { LockChange } from './lock-change.ts';

export interface ReportedAcquire {
  readonly session: number;
  readonly lock: string;
  readonly acquireIndex: number;
  /** 0 while it waits. */
  readonly token: number;
  readonly request: LockRequest;
  /** How often its owner has entered and not left. */
  readonly entries: number;
}

/** What is left of `acquires` and what has come to them. */
export function changed(acquires: readonly ReportedAcquire[], change: LockChange): readonly ReportedAcquire[] {
  switch (change.type) {
    case 'removed':
      return acquires.filter(({ acquireIndex }) => acquireIndex !== change.acquireIndex);
    case 'ended':
      return acquires.filter(({ session }) => session !== change.session);
    case 'enqueued': {
      const { session, lock, acquireIndex, token, request } = change;
      return [...acquires, { session, lock, acquireIndex, token, request, entries: 1 }];
    }
    case 'granted':
      return altered(acquires, change, () => ({ token: change.token }));
    case 'converted':
      return altered(acquires, change, () => ({ request: change.request }));
    case 'entered':
      return altered(acquires, change, ({ entries }) => ({ entries: entries + change.times }));
    case 'raised': {
      const { lock, token } = change;
      return acquires.map((acquire) =>
        acquire.lock === lock && acquire.token !== 0 ? { ...acquire, token } : acquire,
      );
    }
  }
}

function altered(
  acquires: readonly ReportedAcquire[],
  { acquireIndex }: { readonly acquireIndex: number },
  how: (acquire: ReportedAcquire) => Partial<ReportedAcquire>,
): readonly ReportedAcquire[] {
  return acquires.map((acquire) => (acquire.acquireIndex === acquireIndex ? { ...acquire, ...how(acquire) } : acquire));
}

/** The lowest token of all who hold the lock; undefined where one holds at a time. */
export function floorOf(acquires: readonly ReportedAcquire[], lock: string): number | undefined {
  const holders = acquires.filter((acquire) => acquire.lock === lock && acquire.token !== 0);
  if (!holders.some(({ request }) => isShared(request))) return undefined;
  return Math.min(...holders.map(({ token }) => token));
}

/** Whether several may hold the lock together, be it only readers. */
function isShared({ type }: LockRequest): boolean {
  return type === 'readWrite' || type === 'semaphore';
}
