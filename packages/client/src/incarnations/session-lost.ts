/** What `onSessionLost` is told: the end of a session, and what the client had of locks by then. */

import type { EndReason } from '@holdfast/protocol';
import type { Logger } from '@holdfast/runtime';

export interface SessionLost {
  /** Of the session that has ended. */
  readonly sessionId: number;
  /** `expired`: it was not renewed in time. `revoked`: an operator closed it. */
  readonly reason: EndReason;
  /** Others may hold these locks now; writes under these tokens are what the resource must refuse. One entry a lock of each hold. */
  readonly holds: readonly { readonly lock: string; readonly token: number }[];
  /** The locks for which it waited, one entry a lock of each wait. A resilient client asks anew by itself, and has lost its place. */
  readonly waits: readonly string[];
}

/** What the application's callback throws is logged and goes no further. */
export function reportLoss(
  callback: ((lost: SessionLost) => void) | undefined,
  lost: SessionLost,
  logger: Logger,
): void {
  try {
    callback?.(lost);
  } catch (error) {
    logger.error({ error, sessionId: lost.sessionId }, 'onSessionLost threw');
  }
}
