/** What corruptions find in a history, and how they change it: a history is not changed, but another one made. */

import type { EventOf } from '../../../src/history/calls.ts';
import type { History, HistoryEvent } from '../../../src/history/history.ts';

export function ofType<T extends HistoryEvent['type']>(history: History, type: T): EventOf<T>[] {
  return history.filter((event): event is EventOf<T> => event.type === type);
}

export function change<E extends HistoryEvent>(
  history: History,
  event: E | undefined,
  how: (event: E) => HistoryEvent,
): History | undefined {
  return event && history.map((each) => (each === event ? how(event) : each));
}

export function without(history: History, event: HistoryEvent): History {
  return history.filter((each) => each !== event);
}

export function insertAfter(
  history: History,
  place: HistoryEvent | undefined,
  ...events: readonly HistoryEvent[]
): History {
  return renumber(history.flatMap((each) => (each === place ? [each, ...events] : [each])));
}

export function insertBefore(history: History, place: HistoryEvent, event: HistoryEvent): History {
  return renumber(history.flatMap((each) => (each === place ? [event, each] : [each])));
}

function renumber(events: readonly HistoryEvent[]): History {
  return events.map((event, position) => ({ ...event, seq: position + 1 }));
}
