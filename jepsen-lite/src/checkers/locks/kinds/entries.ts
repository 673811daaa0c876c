/**
 * A lock object that counts: all its entries while it holds the lock are one hold, under one token. The lock is given back with the last of
 * them and not before; and when the hold is lost all of them are, so that none of it goes on in a new one.
 */

import { callsOf, okCallsOf, type Call, type EventOf, type InvokeOf, type OkOf } from '../../../history/calls.ts';
import type { History } from '../../../history/history.ts';
import { Findings } from '../../findings.ts';
import { groupBy } from '../../group.ts';
import type { Verdict } from '../../verdict.ts';
import { nameOf, reportedHolds } from '../holds.ts';

/** `reentered`: entries of a lock that was held already; `lost`: holds that were lost with entries that had not been given back. */
type Count = 'entered' | 'reentered' | 'left' | 'lost';

/** One entry, from when its caller was told of it until it begins to give it back. */
interface Entry {
  readonly invoke: InvokeOf<'enter'>;
  readonly ok: OkOf<'enter'>;
  left: InvokeOf<'leave'> | undefined;
}

export function checkEntries(history: History): Verdict {
  const findings = new Findings<Count>('entries', ['entered', 'reentered', 'left', 'lost']);
  const leaves = groupBy(callsOf(history, 'leave'), ({ invoke }) => nameOf(invoke));
  const entries = entriesOf(history, leaves);
  const holds = new Map(reportedHolds(history).map((hold) => [nameOf(hold.ok), hold]));
  findings.count('entered', entries.length);
  findings.count('left', okCallsOf(history, 'leave').length);
  for (const [name, ofHold] of groupBy(entries, ({ ok }) => nameOf(ok))) {
    findings.count('reentered', ofHold.length - 1);
    checkHold(ofHold, findings);
    const { lost, removed } = holds.get(name) ?? {};
    if (lost !== undefined) checkLoss(ofHold, lost, findings);
    if (removed?.reason === 'released') checkGivenBack(ofHold, removed, leaves.get(name) ?? [], findings);
  }
  for (const ofOwner of groupBy(entries, ({ ok }) => `${ok.owner} ${ok.lock}`).values()) checkOwner(ofOwner, findings);
  return findings.verdict(entries.length > 0);
}

/** In the order in which they were told. Each leave of a hold gives back one of its entries: the earliest that is left. */
function entriesOf(history: History, leaves: ReadonlyMap<string, readonly Call<'leave'>[]>): Entry[] {
  const entries: Entry[] = okCallsOf(history, 'enter')
    .sort((one, other) => one.ok.seq - other.ok.seq)
    .map(({ invoke, ok }) => ({ invoke, ok, left: undefined }));
  const next = new Map<string, number>();
  for (const entry of entries) {
    const name = nameOf(entry.ok);
    const place = next.get(name) ?? 0;
    next.set(name, place + 1);
    entry.left = leaves.get(name)?.[place]?.invoke;
  }
  return entries;
}

function checkHold(entries: readonly Entry[], findings: Findings<Count>): void {
  const [first] = entries;
  for (const { ok } of entries) {
    if (first === undefined || (ok.owner === first.ok.owner && ok.token === first.ok.token)) continue;
    findings.broken(
      `lock ${ok.lock}: hold ${ok.hold} is of ${first.ok.owner} under token ${first.ok.token}, and of ${ok.owner} under token ${ok.token}`,
      first.ok,
      ok,
    );
  }
}

function checkLoss(entries: readonly Entry[], loss: EventOf<'lost'>, findings: Findings<Count>): void {
  const kept = entries.some(({ ok, left }) => ok.seq < loss.seq && (left === undefined || left.seq > loss.seq));
  if (kept) findings.count('lost');
  const again = entries.find(({ invoke }) => invoke.seq > loss.seq);
  if (again === undefined) return;
  findings.broken(
    `lock ${loss.lock}: hold ${loss.hold} was entered once more after it was said to be lost`,
    loss,
    again.invoke,
    again.ok,
  );
}

/** The one that gave the lock back is the last. Where the lease has run out, the SDK gives back what nobody can give back any more. */
function checkGivenBack(
  entries: readonly Entry[],
  removal: EventOf<'removed'>,
  leaves: readonly Call<'leave'>[],
  findings: Findings<Count>,
): void {
  const giving = leaves.find(
    ({ invoke, completion }) => completion?.type === 'ok' && invoke.seq < removal.seq && completion.seq > removal.seq,
  );
  const kept = entries.find(({ ok, left }) => ok.seq < removal.seq && (left === undefined || left.seq > removal.seq));
  if (giving === undefined || kept === undefined) return;
  findings.broken(
    `lock ${removal.lock}: hold ${removal.hold} was released while ${kept.ok.owner} had not given back each of its entries`,
    kept.ok,
    giving.invoke,
    removal,
  );
}

/** Whoever has lost a hold gives back each of its entries before there is another one. */
function checkOwner(entries: readonly Entry[], findings: Findings<Count>): void {
  for (const [place, { invoke, ok }] of entries.entries()) {
    const before = entries
      .slice(0, place)
      .find(
        (entry) =>
          entry.ok.hold !== ok.hold &&
          entry.ok.seq < invoke.seq &&
          (entry.left === undefined || entry.left.seq > ok.seq),
      );
    if (before === undefined) continue;
    findings.broken(
      `lock ${ok.lock}: ${ok.owner} was granted hold ${ok.hold} while it had not given back an entry of hold ${before.ok.hold}`,
      before.ok,
      invoke,
      ok,
    );
  }
}
