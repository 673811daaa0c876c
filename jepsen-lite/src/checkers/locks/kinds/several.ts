/**
 * An acquire of several locks has all of them or none: it enters their queues by one entry, is granted by one under one token, and leaves
 * all of them by one. What its application was told of each lock is the same hold and the same token.
 */

import { callsOf, type EventOf } from '../../../history/calls.ts';
import type { History } from '../../../history/history.ts';
import { Findings } from '../../findings.ts';
import { groupBy } from '../../group.ts';
import type { Verdict } from '../../verdict.ts';
import { logInOrder, type RecordedLogEvent } from '../log-order.ts';

/** `taken`: holds of several locks; `waited`: those of them that were granted later than they were asked for. */
type Count = 'asked' | 'taken' | 'waited';
type OfHold = EventOf<'enqueued' | 'granted' | 'removed'>;

export function checkSeveral(history: History): Verdict {
  const findings = new Findings<Count>('several', ['asked', 'taken', 'waited']);
  const log = groupBy(logInOrder(history).filter(isOfHold), ({ hold }) => hold);
  for (const events of log.values()) checkHold(events, findings);
  const told = new Map<number, readonly string[]>();
  for (const { invoke, completion } of callsOf(history, 'acquire')) {
    if (invoke.others === undefined) continue;
    findings.count('asked');
    if (completion?.type !== 'ok') continue;
    const locks = [invoke.lock, ...invoke.others].sort();
    const before = told.get(completion.hold);
    told.set(completion.hold, locks);
    if (before !== undefined && before.join() !== locks.join()) {
      findings.broken(
        `hold ${completion.hold} was told of as one of ${before.join()}, and of ${locks.join()}`,
        completion,
      );
    }
    const granted = log.get(completion.hold)?.filter((event) => event.type === 'granted') ?? [];
    const missing = locks.find((lock) => !granted.some((event) => event.lock === lock));
    if (log.size > 0 && missing !== undefined) {
      findings.broken(
        `session ${completion.session} was notified that it has ${locks.join()} (hold ${completion.hold}), and lock ${missing} was not granted to it`,
        ...granted,
        completion,
      );
    }
  }
  return findings.verdict(findings.counted('asked') > 0 && findings.counted('taken') > 0);
}

function isOfHold(event: RecordedLogEvent): event is OfHold {
  return event.type === 'enqueued' || event.type === 'granted' || event.type === 'removed';
}

/** In the order of the log. */
function checkHold(events: readonly OfHold[], findings: Findings<Count>): void {
  const entered = events.filter((event) => event.type === 'enqueued');
  if (entered.length < 2) return;
  const locks = entered.map(({ lock }) => lock);
  const granted = events.filter((event) => event.type === 'granted');
  const removed = events.filter((event) => event.type === 'removed');
  const [first] = granted;
  if (first !== undefined) {
    findings.count('taken');
    if (first.index > first.hold) findings.count('waited');
  }
  for (const [what, some] of [
    ['entered the queue of', entered],
    ['was granted', granted],
    ['left the queue of', removed],
  ] as const) {
    if (some.length === 0) continue;
    const [one] = some;
    const other = some.find(({ index }) => index !== one?.index);
    const missing = locks.find((lock) => !some.some((event) => event.lock === lock));
    if (other !== undefined) {
      findings.broken(
        `hold ${one?.hold} of several locks ${what} lock ${one?.lock} by entry ${one?.index}, and lock ${other.lock} by entry ${other.index}`,
        one,
        other,
      );
    } else if (missing !== undefined) {
      findings.broken(
        `hold ${one?.hold} of several locks ${what} lock ${one?.lock} by entry ${one?.index}, and never lock ${missing}`,
        ...some,
      );
    }
  }
}
