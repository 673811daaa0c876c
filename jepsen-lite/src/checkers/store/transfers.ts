/**
 * What all accounts have together never changes but by moves that were broken off between their two writes. Whoever holds the locks of all
 * accounts at once, and has read every one before `assertHeld()` passed once more, sees just that. Each account is one chain of writes:
 * no two were built on the same.
 */

import { okCallsOf, type EventOf, type OkCall } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { ACCOUNTS, AMOUNT_KEY, OPENING_AMOUNT, parsePosting, type Posting } from '../../history/locks/accounts.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import { reportedHolds } from '../locks/holds.ts';
import type { Verdict } from '../verdict.ts';

/** `moved`: amounts that were moved as a whole; `halves`: moves that were broken off; `audits`: looks at all accounts. */
type Count = 'moved' | 'halves' | 'audits';

/** A write that took effect, as its answer or a read shows. */
interface Effective {
  readonly bucket: string;
  readonly posting: Posting;
  readonly event: HistoryEvent;
}

export function checkTransfers(history: History): Verdict {
  const findings = new Findings<Count>('transfers', ['moved', 'halves', 'audits']);
  const effective = effectiveWrites(history);
  for (const ofAccount of groupBy(effective, ({ bucket }) => bucket).values()) checkChain(ofAccount, findings);
  for (const ofMove of groupBy(effective, ({ posting }) => posting.token).values()) {
    findings.count(ofMove.length > 1 ? 'moved' : 'halves');
  }
  for (const audit of auditsOf(history)) {
    findings.count('audits');
    checkAudit(audit, effective, findings);
  }
  return findings.verdict(findings.counted('audits') > 0 && findings.counted('moved') > 0);
}

/** Each once. */
function effectiveWrites(history: History): Effective[] {
  const found = new Map<string, Effective>();
  for (const { ok } of okCallsOf(history, 'put', 'get')) {
    const { bucket, key, value } = ok;
    const posting = key === AMOUNT_KEY && value !== null ? parsePosting(value) : undefined;
    if (posting === undefined) continue;
    const name = `${bucket} ${value}`;
    const known = found.get(name);
    if (known === undefined || ok.seq < known.event.seq) found.set(name, { bucket, posting, event: ok });
  }
  return [...found.values()];
}

function checkChain(writes: readonly Effective[], findings: Findings<Count>): void {
  const byNumber = new Map<number, Effective>();
  for (const write of writes) {
    const { bucket, posting, event } = write;
    const twin = byNumber.get(posting.number);
    byNumber.set(posting.number, twin ?? write);
    if (twin === undefined) continue;
    findings.broken(
      `account ${bucket}: the writes under tokens ${twin.posting.token} and ${posting.token} were built on the same one; one of them is lost`,
      twin.event,
      event,
    );
  }
}

/** Reads of all accounts under one hold. */
interface Audit {
  readonly reads: readonly OkCall<'get'>[];
  /** After the last of them. */
  readonly believed: EventOf<'believe'>;
}

function auditsOf(history: History): Audit[] {
  const believed = new Map<number, EventOf<'believe'>>();
  for (const { ok, believed: last } of reportedHolds(history)) {
    if (last !== undefined && last.seq > (believed.get(ok.hold)?.seq ?? 0)) believed.set(ok.hold, last);
  }
  const reads = okCallsOf(history, 'get').filter(
    ({ invoke }) => invoke.key === AMOUNT_KEY && invoke.hold !== undefined,
  );
  const audits: Audit[] = [];
  for (const [hold, ofHold] of groupBy(reads, ({ invoke }) => invoke.hold ?? 0)) {
    const belief = believed.get(hold);
    const counted = ofHold.filter(({ ok }) => belief !== undefined && ok.seq < belief.seq);
    const buckets = new Set(counted.map(({ invoke }) => invoke.bucket));
    if (belief === undefined || buckets.size < ACCOUNTS) continue;
    audits.push({ reads: counted, believed: belief });
  }
  return audits;
}

function checkAudit({ reads, believed }: Audit, effective: readonly Effective[], findings: Findings<Count>): void {
  const seen = new Map<string, Posting | undefined>();
  for (const { invoke, ok } of reads) {
    const posting = ok.value === null ? undefined : parsePosting(ok.value);
    seen.set(ok.bucket, posting);
    const missed = effective.find(
      (write) =>
        write.bucket === ok.bucket && write.posting.number > (posting?.number ?? 0) && write.event.seq < invoke.seq,
    );
    if (missed === undefined) continue;
    findings.broken(
      `account ${ok.bucket} was seen without the write under token ${missed.posting.token}, which was known before`,
      missed.event,
      ok,
    );
  }
  const sum = [...seen.values()].reduce((total, posting) => total + (posting?.amount ?? OPENING_AMOUNT), 0);
  const before = effective.filter(({ bucket, posting }) => posting.number <= (seen.get(bucket)?.number ?? 0));
  let expected = ACCOUNTS * OPENING_AMOUNT;
  for (const ofMove of groupBy(before, ({ posting }) => posting.token).values()) {
    const [half, other] = ofMove;
    if (half !== undefined && other === undefined) expected += half.posting.change;
  }
  if (sum === expected) return;
  findings.broken(
    `the accounts have ${sum} together, as session ${believed.session} saw while it held the locks of all (hold ${believed.hold}); they must have ${expected}`,
    ...reads.map(({ ok }) => ok),
    believed,
  );
}
