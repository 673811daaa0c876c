/**
 * A lock is granted in the order of its queue, which is that of the acquires' log indexes; and who was notified of a hold before another
 * asked was before it in the queue.
 */

import { okCallsOf, type EventOf, type OkCall } from '../../../history/calls.ts';
import type { History } from '../../../history/history.ts';
import { Findings } from '../../findings.ts';
import { groupBy } from '../../group.ts';
import { grantsOf, logInOrder, type RecordedLogEvent } from '../log-order.ts';
import type { Verdict } from '../../verdict.ts';

export function checkOrder(history: History): Verdict {
  const findings = new Findings('order', ['grants', 'grantsWithWaiters', 'reported']);
  const log = logInOrder(history);
  for (const ofLock of groupBy(grantsOf(history), (grant) => grant.lock).values()) checkRising(ofLock, findings);
  if (log.some((event) => event.type === 'enqueued')) {
    for (const ofLock of groupBy(log.filter(concernsLock), (event) => event.lock).values())
      checkQueue(ofLock, findings);
  }
  const reported = okCallsOf(history, 'acquire');
  for (const ofLock of groupBy(reported, (call) => call.ok.lock).values()) checkReported(ofLock, findings);
  return findings.verdict(findings.counted('grants') + findings.counted('reported') > 0);
}

type Count = 'grants' | 'grantsWithWaiters' | 'reported';

function checkRising(grants: readonly EventOf<'granted'>[], findings: Findings<Count>): void {
  for (const [n, grant] of grants.entries()) {
    findings.count('grants');
    const before = grants[n - 1];
    if (before !== undefined && grant.hold <= before.hold) {
      findings.broken(
        `lock ${grant.lock} was granted to hold ${grant.hold} after hold ${before.hold}, which came later`,
        before,
        grant,
      );
    }
  }
}

function concernsLock(event: RecordedLogEvent): event is EventOf<'enqueued' | 'granted' | 'removed'> {
  return event.type !== 'ended-session' && event.type !== 'downgraded';
}

/** Nobody is passed over: a grant goes to the first of those who wait. */
function checkQueue(events: readonly EventOf<'enqueued' | 'granted' | 'removed'>[], findings: Findings<Count>): void {
  const waiting = new Map<number, EventOf<'enqueued'>>();
  for (const event of events) {
    if (event.type === 'enqueued') {
      waiting.set(event.hold, event);
      continue;
    }
    if (event.type === 'granted') {
      const first = waiting.values().next().value;
      if (waiting.size > 1) findings.count('grantsWithWaiters');
      if (first !== undefined && first.hold < event.hold) {
        findings.broken(
          `lock ${event.lock} was granted to hold ${event.hold}, but hold ${first.hold} was first in its queue`,
          first,
          event,
        );
      }
    }
    waiting.delete(event.hold);
  }
}

function checkReported(calls: readonly OkCall<'acquire'>[], findings: Findings<Count>): void {
  const ended = [...calls].sort((left, right) => left.ok.seq - right.ok.seq);
  let position = 0;
  let latest: OkCall<'acquire'> | undefined;
  for (const call of calls) {
    findings.count('reported');
    for (let next = ended[position]; next !== undefined && next.ok.seq < call.invoke.seq; next = ended[position]) {
      if (latest === undefined || next.ok.hold > latest.ok.hold) latest = next;
      position += 1;
    }
    if (latest !== undefined && call.ok.hold < latest.ok.hold) {
      findings.broken(
        `lock ${call.ok.lock}: hold ${call.ok.hold} was asked for after hold ${latest.ok.hold} was reported, and was before it in the queue`,
        latest.ok,
        call.invoke,
        call.ok,
      );
    }
  }
}
