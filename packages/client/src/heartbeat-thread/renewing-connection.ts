/** A connection whose other end of a thread renews the session while this one stands still. */

import type { Connection } from '@holdfast/runtime';
import type { Instant } from '../session/lease.ts';

/** When the last renewal was sent that the ensemble has acknowledged and this thread may not have heard of yet. */
export type Renewals = () => Instant | undefined;

export interface RenewingConnection extends Connection {
  /** From now on, whenever this thread stands still, but not for longer than it may. */
  renewEvery(intervalMs: number): Renewals;
}

export function isRenewing(connection: Connection): connection is RenewingConnection {
  return 'renewEvery' in connection;
}
