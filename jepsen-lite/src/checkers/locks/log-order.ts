/**
 * What the servers did, entry by entry. Within one entry the order is that of the state machine's rule, whatever the order in which the
 * harness recorded it: what enters a queue, then all that leaves or takes less, then the grants, then the ends of sessions.
 */

import type { EventOf } from '../../history/calls.ts';
import { derived } from '../../history/derived.ts';
import type { History, HistoryEvent, LogEvent } from '../../history/history.ts';

export type RecordedLogEvent = EventOf<LogEvent['type']>;

const RANK: Readonly<Record<LogEvent['type'], number>> = {
  enqueued: 0,
  removed: 1,
  downgraded: 1,
  granted: 2,
  'ended-session': 3,
};

export const logInOrder = derived((history): readonly RecordedLogEvent[] =>
  history
    .filter(isLogEvent)
    .sort((left, right) => left.index - right.index || RANK[left.type] - RANK[right.type] || left.seq - right.seq),
);

/**
 * Whether each entry has the time at which the first server has applied it, as in a simulation. In a live run it has that of the first answer that
 * shows it, the event behind it, and may be earlier than that. True only where an entry's time is another: then it was not taken from there.
 */
export const logTimesAreExact = derived((history): boolean => {
  let entry: RecordedLogEvent | undefined;
  for (const event of history) {
    if (isLogEvent(event)) entry = event;
    else if (entry !== undefined && event.timeMs > entry.timeMs) return true;
    else entry = undefined;
  }
  return false;
});

export function grantsOf(history: History): EventOf<'granted'>[] {
  return logInOrder(history).filter((event) => event.type === 'granted');
}

export function isLogEvent(event: HistoryEvent): event is RecordedLogEvent {
  return Object.hasOwn(RANK, event.type);
}
