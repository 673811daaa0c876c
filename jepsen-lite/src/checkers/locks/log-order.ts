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

export function grantsOf(history: History): EventOf<'granted'>[] {
  return logInOrder(history).filter((event) => event.type === 'granted');
}

export function isLogEvent(event: HistoryEvent): event is RecordedLogEvent {
  return Object.hasOwn(RANK, event.type);
}
