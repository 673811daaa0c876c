/**
 * `assertHeld()` never passes after the servers have granted the lock to another, who may not hold it beside the believer, because of an expiry
 * or for any reason but an operator's: not to one whose clock keeps within the bound. And a hold that was given back, or said to be lost,
 * stays lost.
 */

import type { EventOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { mayHoldTogether, TO_READ, type Requester } from '../../models/holders.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import { nameOf, reportedHolds, type ReportedHold } from './holds.ts';
import { grantsOf, logInOrder, type RecordedLogEvent } from './log-order.ts';
import { requested } from './requested.ts';
import type { Verdict } from '../verdict.ts';

export function checkBelief(history: History): Verdict {
  const findings = new Findings('belief', ['believes', 'afterExpiry']);
  const grants = grantsOf(history);
  const next = nextGrants(logInOrder(history));
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

type OfHold = Exclude<RecordedLogEvent, EventOf<'ended-session'>>;
type Granted = Requester & { readonly event: EventOf<'granted'> };

/** For each hold, the first grant of its lock that leaves it no place beside those who hold the lock then. */
function nextGrants(log: readonly RecordedLogEvent[]): Map<string, EventOf<'granted'>> {
  const next = new Map<string, EventOf<'granted'>>();
  const ofHolds = log.filter((event): event is OfHold => event.type !== 'ended-session');
  for (const ofLock of groupBy(ofHolds, ({ lock }) => lock).values()) {
    const holders = new Map<number, Granted>();
    /** They hold it, or did, and nobody has taken their place yet. */
    const placed = new Map<number, Granted>();
    for (const event of ofLock) {
      if (event.type === 'removed') {
        holders.delete(event.hold);
        // Where several share a lock nobody may take that place for long; that whoever gave back believes no more is looked at as well.
        if (event.reason === 'released' && placed.get(event.hold)?.request.type !== 'mutex') placed.delete(event.hold);
      } else if (event.type === 'downgraded') {
        readOn(event.hold, holders, placed);
      } else if (event.type === 'granted') {
        const granted = requested(event, event.asked);
        for (const [hold, before] of placed) {
          const others = [...holders].flatMap(([other, holder]) => (other === hold ? [] : [holder]));
          if (mayHoldTogether([...others, granted, before])) continue;
          next.set(nameOf(before.event), event);
          placed.delete(hold);
        }
        holders.set(event.hold, granted);
        placed.set(event.hold, granted);
      }
    }
  }
  return next;
}

function readOn(hold: number, ...tables: readonly Map<number, Granted>[]): void {
  for (const table of tables) {
    const granted = table.get(hold);
    if (granted !== undefined) table.set(hold, { ...granted, request: TO_READ });
  }
}

function removalsOf(history: History): Map<string, EventOf<'removed'>> {
  const removals = new Map<string, EventOf<'removed'>>();
  for (const event of logInOrder(history)) {
    if (event.type === 'removed' && !removals.has(nameOf(event))) removals.set(nameOf(event), event);
  }
  return removals;
}
