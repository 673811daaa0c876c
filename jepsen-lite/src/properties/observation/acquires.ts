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
      return [...acquires, { session, lock, acquireIndex, token, request }];
    }
    case 'granted':
      return acquires.map((acquire) =>
        acquire.acquireIndex === change.acquireIndex ? { ...acquire, token: change.token } : acquire,
      );
  }
}
