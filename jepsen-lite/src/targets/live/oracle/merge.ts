/**
 * Puts what the log says among what clients said: an entry as late as can be, right before the first answer that shows it or a later one.
 * So a checker that asks for what was first errs on the side of the servers, and what is out of order still shows: an entry of a call
 * that was made only after an answer had shown a later one.
 */

import type { History, HistoryEvent, EntryEvent, Stamp } from '../../../history/history.ts';
import type { Witnesses } from './witnesses.ts';

const ENSEMBLE = 'ensemble';

export interface Merged {
  readonly history: readonly HistoryEvent[];
  /** Calls whose entries come before what had been shown when they were made, in words. */
  readonly backwards: readonly string[];
}

/** `events`: in the order of their indexes. */
export function merge(history: History, events: readonly EntryEvent[], { shown, became }: Witnesses): Merged {
  const merged: HistoryEvent[] = [];
  const backwards: string[] = [];
  let place = 0;
  let highest = 0;
  const add = (event: HistoryEvent | (EntryEvent & Omit<Stamp, 'seq'>)): void => {
    merged.push({ ...event, seq: merged.length + 1 } as HistoryEvent);
  };
  const addUpTo = (index: number, timeMs: number): void => {
    for (let next = events[place]; next !== undefined && next.index <= index; next = events[place]) {
      add({ timeMs, process: ENSEMBLE, ...next });
      place += 1;
    }
  };
  for (const event of history) {
    const entry = became.get(event.seq);
    if (entry !== undefined && entry <= highest) {
      backwards.push(
        `${JSON.stringify(event)} became entry ${entry}, and entry ${highest} had been shown before it was made`,
      );
    }
    const index = shown.get(event.seq);
    if (index !== undefined) {
      highest = Math.max(highest, index);
      addUpTo(index, event.timeMs);
    }
    add(event);
  }
  addUpTo(Infinity, history.at(-1)?.timeMs ?? 0);
  return { history: merged, backwards };
}
