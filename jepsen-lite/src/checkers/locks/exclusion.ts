/**
 * Holders that may not hold a lock together never believe in it at one time, by what applications saw: from when a hold was reported until the last time
 * that `assertHeld()` passed. Without that last question they do overlap: a paused holder knows nothing. Those overlaps are counted,
 * since a run without any has not tried what fencing is for.
 */

import type { History } from '../../history/history.ts';
import { inTheWay, mayJoin, TO_READ, type Requester } from '../../models/holders.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import { reportedHolds, wasRevoked, type ReportedHold } from './holds.ts';
import { askedBy, requested } from './requested.ts';
import type { Verdict } from '../verdict.ts';

type Holder = Requester & { readonly event: ReportedHold };

export function checkExclusion(history: History): Verdict {
  const findings = new Findings('exclusion', ['holds', 'beliefs', 'beliefOverlaps']);
  const holds = reportedHolds(history);
  const ends = sessionEnds(history);
  for (const ofLock of groupBy(holds, (hold) => hold.ok.lock).values()) {
    findings.count('holds', ofLock.length);
    findings.count('beliefs', ofLock.filter((hold) => hold.believed !== undefined).length);
    checkDefinite(ofLock, findings);
    findings.count(
      'beliefOverlaps',
      countOverlaps(ofLock, (hold) => presumedEnd(hold, ends)),
    );
  }
  return findings.verdict(holds.length > 0);
}

function checkDefinite(holds: readonly ReportedHold[], findings: Findings<'holds'>): void {
  let live: Holder[] = [];
  for (const hold of holds) {
    if (wasRevoked(hold)) continue;
    const next = requested(hold, askedBy(hold.ok));
    live = live.filter(({ event }) => hold.ok.seq < definiteEnd(event));
    const last = inTheWay(asOf(live, hold.ok.seq), next)?.event;
    if (last !== undefined) {
      const { lock, session } = hold.ok;
      findings.broken(
        `lock ${lock}: session ${last.ok.session} had it (token ${last.ok.token}) before and after session ${session} was notified that it has it (token ${hold.ok.token})`,
        last.ok,
        hold.ok,
        last.believed,
      );
    }
    // Who is believed in for longest stands in the way of most: it is named first.
    live = [...live, next].sort((left, right) => definiteEnd(right.event) - definiteEnd(left.event));
  }
}

/** A hold that was about to be downgraded then may have been one to read. */
function asOf(holders: readonly Holder[], seq: number): readonly Holder[] {
  return holders.map((holder) => {
    const { downgrading } = holder.event;
    return downgrading !== undefined && downgrading.seq < seq ? { ...holder, request: TO_READ } : holder;
  });
}

function definiteEnd(hold: ReportedHold): number {
  return hold.believed?.seq ?? hold.ok.seq;
}

/** Until when the application acts as the holder, asking nobody. */
function presumedEnd(hold: ReportedHold, ends: ReadonlyMap<number, number>): number {
  return Math.min(
    hold.lost?.seq ?? Number.POSITIVE_INFINITY,
    hold.releasing?.seq ?? Number.POSITIVE_INFINITY,
    ends.get(hold.ok.session) ?? Number.POSITIVE_INFINITY,
  );
}

function countOverlaps(holds: readonly ReportedHold[], endOf: (hold: ReportedHold) => number): number {
  let overlaps = 0;
  let live: Holder[] = [];
  for (const hold of holds) {
    const next = requested(hold, askedBy(hold.ok));
    live = live.filter(({ event }) => hold.ok.seq < endOf(event));
    if (!mayJoin(asOf(live, hold.ok.seq), next)) overlaps += 1;
    live.push(next);
  }
  return overlaps;
}

/** When each session's application heard that it is over. */
function sessionEnds(history: History): Map<number, number> {
  const ends = new Map<number, number>();
  for (const event of history) {
    if (event.type !== 'session' || (event.event !== 'expired' && event.event !== 'closed')) continue;
    if (!ends.has(event.session)) ends.set(event.session, event.seq);
  }
  return ends;
}
