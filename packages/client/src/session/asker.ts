/** Through what is asked that needs no session: reads, and what operators ask of servers. */

import type { AdminRequest } from './admin-calls.ts';
import type { Read } from './reads.ts';
import type { TimeLimits } from './time-limits.ts';

export interface Asker {
  readonly limits: TimeLimits;
  /** On the monotonic clock; `undefined` is the client's limit. */
  limitAtMs(timeoutMs: number | undefined): number;
  /** Where it is connected, in words, for messages. */
  describe(): string;
  /** @throws SessionExpiredError, ClientClosedError, OverloadedError */
  submitRead(read: Read): void;
  withdrawRead(read: Read): void;
  /** @throws SessionExpiredError, ClientClosedError, OverloadedError */
  submitAdmin(call: AdminRequest): void;
  withdrawAdmin(call: AdminRequest): void;
}
