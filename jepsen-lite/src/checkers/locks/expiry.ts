/**
 * No session expires early, or is said to have when it has not. Every renewal that was acknowledged, and every write of the session that
 * was done, was received after it was sent, and from then on the session had its full time, by a clock that keeps within the bound.
 */

import { MAX_CLOCK_RATE_ERROR } from '@holdfast/protocol';

import { isCompletion, type EventOf } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import { isLogEvent } from './log-order.ts';
import type { CheckOptions, Verdict } from '../verdict.ts';

interface Lease {
  timeoutMs: number | undefined;
  /** The latest sign of life that is known to have been received. */
  sentMs: number;
  sign: HistoryEvent | undefined;
  ended: EventOf<'ended-session'> | undefined;
}

export function checkExpiry(history: History, options: CheckOptions = {}): Verdict {
  const findings = new Findings('expiry', ['sessions', 'renewals', 'expired', 'judged']);
  const error = options.clockRateError ?? MAX_CLOCK_RATE_ERROR;
  const logged = history.some(isLogEvent);
  const invokes = new Map<number, EventOf<'invoke'>>();
  const leases = new Map<number, Lease>();
  const leaseOf = (session: number): Lease => {
    let lease = leases.get(session);
    if (lease === undefined) {
      lease = { timeoutMs: undefined, sentMs: 0, sign: undefined, ended: undefined };
      leases.set(session, lease);
    }
    return lease;
  };
  const renew = (session: number, sentMs: number, sign: HistoryEvent): void => {
    findings.count('renewals');
    const lease = leaseOf(session);
    if (sentMs >= lease.sentMs) Object.assign(lease, { sentMs, sign });
  };

  for (const event of history) {
    if (event.type === 'invoke') invokes.set(event.call, event);
    else if (isCompletion(event)) {
      const session = renewedBy(event);
      const invoke = invokes.get(event.call);
      if (session !== undefined && invoke !== undefined) renew(session, invoke.timeMs, event);
    } else if (event.type === 'renewed') renew(event.session, event.sentMs, event);
    else if (event.type === 'session' && event.event === 'connected') {
      findings.count('sessions');
      if (event.timeoutMs !== undefined) leaseOf(event.session).timeoutMs = event.timeoutMs;
    } else if (event.type === 'session' && event.event === 'expired') {
      if (logged && leaseOf(event.session).ended === undefined) {
        findings.broken(`session ${event.session} was said to have expired, and no server had ended it`, event);
      }
    } else if (event.type === 'ended-session') {
      const lease = leaseOf(event.session);
      lease.ended ??= event;
      if (event.reason === 'expired') judge(event, lease, error, findings);
    }
  }
  return findings.verdict(findings.counted('judged') > 0);
}

function judge(
  event: EventOf<'ended-session'>,
  { timeoutMs, sentMs, sign }: Lease,
  clockRateError: number,
  findings: Findings<'expired' | 'judged'>,
): void {
  findings.count('expired');
  if (timeoutMs === undefined || sign === undefined) return;
  findings.count('judged');
  const earliestMs = sentMs + timeoutMs / (1 + clockRateError);
  if (event.timeMs < earliestMs) {
    findings.broken(
      `session ${event.session} expired ${event.timeMs - sentMs} ms after a renewal was sent that the servers have received; its timeout is ${timeoutMs} ms`,
      sign,
      event,
    );
  }
}

/** The session whose write was done: a committed command renews as a heartbeat does, a read does not. */
function renewedBy(event: EventOf<'ok'> | EventOf<'fail' | 'info'>): number | undefined {
  if (event.type !== 'ok') return undefined;
  switch (event.f) {
    case 'acquire':
    case 'release':
    case 'downgrade':
    case 'create':
    case 'set':
    case 'delete':
    case 'create-sequential':
    case 'transaction':
      return event.session;
    case 'read':
    case 'list':
    case 'status':
    // Nobody was asked, where it is held already, or is still.
    case 'enter':
    case 'leave':
    case 'fence':
    case 'put':
    case 'get':
    case 'kv-fence':
    case 'kv-get':
    case 'kv-put':
    case 'kv-delete':
      return undefined;
  }
}
