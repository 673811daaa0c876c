/**
 * `assertHeld()` never passes after the servers have granted the lock to another because of an expiry or for any reason but an
 * operator's: not to one whose clock keeps within the bound. And a hold that was given back, or said to be lost, stays lost.
 */

import type { EventOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import { nameOf, reportedHolds, type ReportedHold } from './holds.ts';
import { grantsOf, logInOrder } from './log-order.ts';
import type { Verdict } from '../verdict.ts';

export function checkBelief(history: History): Verdict {
  const findings = new Findings('belief', ['believes', 'afterExpiry']);
  const grants = grantsOf(history);
  const next = nextGrants(grants);
  const removals = removalsOf(history);
  const reported = new Map(reportedHolds(history).map((hold) => [nameOf(hold.ok), hold]));
  for (const event of history) {
    if (event.type !== 'believe') continue;
    findings.count('believes');
    const name = nameOf(event);
    const removed = removals.get(name);
    checkLoss(event, reported.get(name), findings);
    if (removed?.reason === 'expired' && removed.seq < event.seq) findings.count('afterExpiry');
    const other = next.get(name);
    if (other !== undefined && other.seq < event.seq && removed?.reason !== 'revoked') {
      findings.broken(
        `session ${event.session} believes in lock ${event.lock} (token ${event.token}) after token ${other.token} was granted to session ${other.session}`,
        removed,
        other,
        event,
      );
    }
  }
  return findings.verdict(findings.counted('believes') > 0 && grants.length > 0);
}

function checkLoss(event: EventOf<'believe'>, hold: ReportedHold | undefined, findings: Findings<'believes'>): void {
  const what = `session ${event.session} believes in lock ${event.lock} (token ${event.token})`;
  if (hold === undefined || hold.ok.seq > event.seq || hold.ok.token !== event.token) {
    findings.broken(`${what}, which was not reported to it`, hold?.ok, event);
  } else if (hold.releasing !== undefined && hold.releasing.seq < event.seq) {
    findings.broken(`${what} after it has given it back`, hold.releasing, event);
  } else if (hold.lost !== undefined && hold.lost.seq < event.seq) {
    findings.broken(`${what} after it was said to be lost`, hold.lost, event);
  }
}

/** For each hold, the grant of its lock that came next. */
function nextGrants(grants: readonly EventOf<'granted'>[]): Map<string, EventOf<'granted'>> {
  const next = new Map<string, EventOf<'granted'>>();
  for (const ofLock of groupBy(grants, (grant) => grant.lock).values()) {
    for (const [n, grant] of ofLock.entries()) {
      const after = ofLock[n + 1];
      if (after !== undefined) next.set(nameOf(grant), after);
    }
  }
  return next;
}

function removalsOf(history: History): Map<string, EventOf<'removed'>> {
  const removals = new Map<string, EventOf<'removed'>>();
  for (const event of logInOrder(history)) {
    if (event.type === 'removed' && !removals.has(nameOf(event))) removals.set(nameOf(event), event);
  }
  return removals;
}
