/**
 * What is read under a lock that is held to read, or that was downgraded to that, stays as it is while it is held: nobody writes meanwhile.
 * Each holder has the store know a token as high as its own first, so that no older writer is heard. A value counts that was read before
 * `assertHeld()` passed once more: before that its reader can't know whether it still held the lock.
 */

import { callsOf, okCallsOf, type OkCall } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import { nameOf, reportedHolds, type ReportedHold } from '../locks/holds.ts';
import type { Verdict } from '../verdict.ts';

/** `sections`: holds under which a value was read twice; `together`: those of them beside another one; `downgraded`: behind an own write. */
type Count = 'reads' | 'sections' | 'together' | 'downgraded';

interface Section {
  readonly hold: ReportedHold;
  readonly first: OkCall<'get'>;
  readonly last: OkCall<'get'>;
}

export function checkSharedReads(history: History): Verdict {
  const findings = new Findings<Count>('shared-reads', ['reads', 'sections', 'together', 'downgraded']);
  const holds = new Map(reportedHolds(history).map((hold) => [nameOf(hold.ok), hold]));
  const known = knownTokens(history);
  const doubtful = doubtfulWrites(history);
  const sections: Section[] = [];
  const reads = okCallsOf(history, 'get').filter(({ invoke }) => invoke.hold !== undefined);
  for (const ofHold of groupBy(reads, ({ invoke }) => `${invoke.hold} ${invoke.bucket}`).values()) {
    const [one] = ofHold;
    if (one === undefined) continue;
    const { invoke } = one;
    const hold = holds.get(nameOf({ lock: invoke.bucket, hold: invoke.hold ?? 0 }));
    if (hold?.believed === undefined || doubtful.has(`${hold.ok.token} ${invoke.bucket}`)) continue;
    const { token } = hold.ok;
    const until = hold.believed.seq;
    const counted = ofHold.filter(
      (read) => read.ok.seq < until && tokenAt(known.get(invoke.bucket) ?? [], read.invoke.seq) >= token,
    );
    findings.count('reads', counted.length);
    const [first] = counted;
    const last = counted.at(-1);
    if (first === undefined || last === undefined || first === last) continue;
    sections.push({ hold, first, last });
    findings.count('sections');
    if (hold.downgrading !== undefined) findings.count('downgraded');
    const other = counted.find(({ ok }) => ok.value !== first.ok.value);
    if (other === undefined) continue;
    findings.broken(
      `${invoke.bucket}/${invoke.key} was ${JSON.stringify(first.ok.value)} and then ${JSON.stringify(other.ok.value)} while session ${hold.ok.session} held the lock (token ${token}) and wrote nothing`,
      first.ok,
      other.ok,
      hold.believed,
    );
  }
  for (const ofLock of groupBy(sections, ({ hold }) => hold.ok.lock).values()) countTogether(ofLock, findings);
  return findings.verdict(findings.counted('sections') > 0);
}

/** Those that begin while another one of the same lock reads. */
function countTogether(sections: readonly Section[], findings: Findings<Count>): void {
  let end = 0;
  for (const { first, last } of sections.toSorted((left, right) => left.first.invoke.seq - right.first.invoke.seq)) {
    if (first.invoke.seq < end) findings.count('together');
    end = Math.max(end, last.ok.seq);
  }
}

interface Known {
  readonly seq: number;
  /** The highest that the bucket is known to have from then on. */
  readonly token: number;
}

/** By bucket, in the order of the answers that show it. */
function knownTokens(history: History): ReadonlyMap<string, readonly Known[]> {
  const known = new Map<string, Known[]>();
  for (const event of history) {
    const token = shownBy(event);
    if (token === undefined) continue;
    const ofBucket = known.get(token.bucket) ?? [];
    known.set(token.bucket, ofBucket);
    if (token.token > (ofBucket.at(-1)?.token ?? 0)) ofBucket.push({ seq: event.seq, token: token.token });
  }
  return known;
}

function shownBy(event: HistoryEvent): { readonly bucket: string; readonly token: number } | undefined {
  if (event.type === 'ok' && (event.f === 'fence' || event.f === 'put')) return event;
  const isRefusal = event.type === 'fail' && event.f === 'fence' && event.highest !== undefined;
  return isRefusal ? { bucket: event.bucket, token: event.highest ?? 0 } : undefined;
}

function tokenAt(known: readonly Known[], seq: number): number {
  return known.findLast((each) => each.seq < seq)?.token ?? 0;
}

/** Of which nobody knows when they take effect, by token and bucket. */
function doubtfulWrites(history: History): ReadonlySet<string> {
  const doubtful = new Set<string>();
  for (const { invoke, completion } of callsOf(history, 'put')) {
    if (completion === undefined || completion.type === 'info') doubtful.add(`${invoke.token} ${invoke.bucket}`);
  }
  return doubtful;
}
