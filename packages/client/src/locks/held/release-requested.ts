/** That an operator wants a lock back, as its holder is told. */

import type { ServerMessage } from '@holdfast/protocol';
import type { Clock } from '@holdfast/runtime';
import { ReleaseRequestedError } from '../../errors.ts';

/**
 * Who has asked for a lock, until when, and what comes then.
 *
 * @example
 * const left = (held.releaseRequest?.deadlineMs ?? Infinity) - Date.now();
 */
export interface ReleaseRequested {
  /** The label of whoever has asked, such as `lockctl ann@host`. */
  readonly by: string;
  /** When the time is over, in milliseconds of the Unix epoch by this process's clock. An estimate: what counts is the ensemble's time. */
  readonly deadlineMs: number;
  /** What becomes of the hold then: it is revoked, or left. */
  readonly atDeadline: 'revoke' | 'leave';
}

export function requestedFrom(
  { by, withinMs, revokes }: Extract<ServerMessage, { readonly type: 'release-requested' }>,
  clock: Pick<Clock, 'wallMs'>,
): ReleaseRequested {
  return { by, deadlineMs: clock.wallMs() + withinMs, atDeadline: revokes ? 'revoke' : 'leave' };
}

/** The reason of the signal. */
export function requestError(what: string, { by, atDeadline }: ReleaseRequested): ReleaseRequestedError {
  const who = by === '' ? 'an operator' : JSON.stringify(by);
  const end = atDeadline === 'revoke' ? '; it is revoked when its time is over' : '';
  return new ReleaseRequestedError(`${who} has asked for ${what} to be released${end}`);
}
