/** Collects a run's events in the order in which they are told, and numbers events and calls. Keeps all of them in memory. */

import type { HistoryEvent, UnnumberedEvent } from './history.ts';

export class HistoryRecorder {
  readonly #events: HistoryEvent[] = [];
  #calls = 0;

  get events(): readonly HistoryEvent[] {
    return this.#events;
  }

  /** A number for a call that is about to be invoked. */
  nextCall(): number {
    this.#calls += 1;
    return this.#calls;
  }

  /** Takes the event over: it gets its number in place, since a copy of each would be a fair part of what a simulated run costs. */
  record(event: UnnumberedEvent): HistoryEvent {
    const numbered: HistoryEvent = Object.assign(event, { seq: this.#events.length + 1 });
    this.#events.push(numbered);
    return numbered;
  }
}
