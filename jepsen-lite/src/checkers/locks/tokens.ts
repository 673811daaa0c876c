/**
 * Tokens of a lock are the log indexes of its grants: each is given once, but to those whom one entry lets hold together, and a later grant
 * has a higher one, in log order and in the
 * order that applications can see (one was answered before the other asked).
 */

import { okCallsOf, type EventOf, type OkCall } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { inTheWay, mayHoldTogether } from '../../models/holders.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import { grantsOf } from './log-order.ts';
import { askedBy, requested } from './requested.ts';
import type { Verdict } from '../verdict.ts';

export function checkTokens(history: History): Verdict {
  const findings = new Findings('tokens', ['granted', 'reported', 'locks']);
  const grants = grantsOf(history);
  for (const [lock, ofLock] of groupBy(grants, (grant) => grant.lock)) {
    for (const [n, grant] of ofLock.entries()) {
      const before = ofLock[n - 1];
      findings.count('granted');
      if (grant.token !== grant.index) {
        findings.broken(`lock ${lock}: token ${grant.token} was granted by entry ${grant.index}`, grant);
      }
      if (before !== undefined && grant.token <= before.token && !sharesItsToken(before, grant)) {
        findings.broken(`lock ${lock}: token ${grant.token} was granted after ${before.token}`, before, grant);
      }
    }
  }
  const reported = okCallsOf(history, 'acquire', 'enter');
  for (const [lock, ofLock] of groupBy(reported, (call) => call.ok.lock)) {
    findings.count('locks');
    findings.count('reported', ofLock.length);
    checkReported(lock, ofLock, findings);
  }
  return findings.verdict(reported.length + grants.length > 0);
}

/** One entry let both hold. */
function sharesItsToken(before: EventOf<'granted'>, grant: EventOf<'granted'>): boolean {
  const together = mayHoldTogether([requested(before, before.asked), requested(grant, grant.asked)]);
  return together && grant.token === before.token && grant.index === before.index;
}

type Reported = OkCall<'acquire' | 'enter'>;

/** Entries of one hold by its one owner. */
function isSameHold({ ok: left }: Reported, { ok: right }: Reported): boolean {
  return left.f === 'enter' && right.f === 'enter' && left.owner === right.owner && left.hold === right.hold;
}

function checkReported(lock: string, calls: readonly Reported[], findings: Findings<'reported'>): void {
  const byToken = new Map<number, Reported[]>();
  for (const call of calls) {
    const { token } = call.ok;
    const others = byToken.get(token) ?? [];
    const owners = others.filter((other) => !isSameHold(other, call));
    const twin = inTheWay(
      owners.map((other) => requested(other, askedBy(other.ok))),
      requested(call, askedBy(call.ok)),
    )?.event;
    if (twin !== undefined)
      findings.broken(`lock ${lock}: two acquires were notified of token ${token}`, twin.ok, call.ok);
    byToken.set(token, [...others, call]);
  }
  const ended = [...calls].sort((left, right) => left.ok.seq - right.ok.seq);
  let position = 0;
  let highest: Reported | undefined;
  for (const call of calls) {
    for (let next = ended[position]; next !== undefined && next.ok.seq < call.invoke.seq; next = ended[position]) {
      if (highest === undefined || next.ok.token > highest.ok.token) highest = next;
      position += 1;
    }
    if (highest !== undefined && call.ok.token < highest.ok.token) {
      findings.broken(
        `lock ${lock}: token ${call.ok.token} went to an acquire that began after token ${highest.ok.token} was reported`,
        highest.ok,
        call.invoke,
        call.ok,
      );
    }
  }
}
