/**
 * The control: the same register in a store without a fence. Updates may be lost there, and what is read under a lock may change, since
 * nothing is promised of them; what goes wrong is counted, and runs in which nothing ever does have not put the fence to the test. That the bucket goes without tokens is kept
 * like any write: a store that demands one has lost what it acknowledged.
 */

import type { CompletionOf } from '../../history/calls.ts';
import { UNFENCED_BUCKET, type History, type HistoryEvent } from '../../history/history.ts';
import { countingRegisters, parseUpdate, type CountingRegister } from './counting-register.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import { nameOf, reportedHolds, type ReportedHold } from '../locks/holds.ts';
import type { Verdict } from '../verdict.ts';

export function checkUnfenced(history: History): Verdict {
  const findings = new Findings('unfenced', ['writes', 'staleWrites', 'lostUpdates', 'changedReads']);
  const holds = new Map(reportedHolds(history).map((hold) => [nameOf(hold.ok), hold]));
  for (const register of countingRegisters(history)) {
    if (register.bucket !== UNFENCED_BUCKET) continue;
    const puts = completedPuts(register);
    findings.count('writes', puts.length);
    findings.count('staleWrites', countStale(register));
    findings.count('lostUpdates', countLost(puts));
    findings.count('changedReads', countChanged(register, holds));
    reportForgotten(findings, register);
  }
  return findings.verdict(findings.counted('writes') > 0);
}

function completedPuts(register: CountingRegister): CompletionOf<'put'>[] {
  return register.calls.flatMap(({ completion }) =>
    completion?.type === 'ok' && completion.f === 'put' ? [completion] : [],
  );
}

/** The bucket was made, and its making acknowledged, before anything was written to it. */
function reportForgotten<T extends string>(findings: Findings<T>, { bucket, key, calls }: CountingRegister): void {
  for (const { invoke, completion } of calls) {
    if (completion?.type !== 'fail' || completion.code !== 'TOKEN_REQUIRED') continue;
    findings.broken(
      `${bucket}/${key}: a write needs a token now, though the bucket was made to go without: the store has lost that`,
      invoke,
      completion,
    );
  }
}

/** Writes that were sent after one of a higher token was done, and got through. */
function countStale({ calls }: CountingRegister): number {
  const events: HistoryEvent[] = calls.flatMap(({ invoke, completion }) =>
    completion?.type === 'ok' ? [invoke, completion] : [],
  );
  const highestAt = new Map<number, number>();
  let highest = 0;
  let stale = 0;
  for (const event of events.sort((left, right) => left.seq - right.seq)) {
    if (event.type === 'invoke') highestAt.set(event.call, highest);
    else if (event.type === 'ok' && event.f === 'put') {
      if (event.token < (highestAt.get(event.call) ?? 0)) stale += 1;
      highest = Math.max(highest, event.token);
    }
  }
  return stale;
}

/** Updates that share their number with one of another holder: both were built on the same. */
function countLost(puts: readonly CompletionOf<'put'>[]): number {
  const byNumber = new Map<number, Set<string>>();
  for (const put of puts) {
    const number = parseUpdate(put.value)?.number ?? 0;
    byNumber.set(number, (byNumber.get(number) ?? new Set()).add(put.value));
  }
  let lost = 0;
  for (const values of byNumber.values()) lost += values.size - 1;
  return lost;
}

/**
 * Holds of a read-write lock of the register's name under which it was seen to change, though `assertHeld()` passed after it was read: the
 * lock has kept writers out, and one that had lost it wrote all the same.
 */
function countChanged({ key, calls }: CountingRegister, holds: ReadonlyMap<string, ReportedHold>): number {
  const reads = calls.flatMap(({ invoke, completion }) =>
    invoke.f === 'get' && invoke.hold !== undefined && completion?.type === 'ok' && completion.f === 'get'
      ? [{ hold: invoke.hold, seq: completion.seq, value: completion.value }]
      : [],
  );
  let changed = 0;
  for (const ofHold of groupBy(reads, ({ hold }) => String(hold)).values()) {
    const [first] = ofHold;
    const until = holds.get(nameOf({ lock: key, hold: first?.hold ?? 0 }))?.believed?.seq ?? 0;
    const values = new Set(ofHold.filter(({ seq }) => seq < until).map(({ value }) => value));
    if (values.size > 1) changed += 1;
  }
  return changed;
}
