/** Collects a run's events in the order in which they are recorded, and numbers events and calls. Keeps all of them in memory. */

import type { HistoryEvent, HistoryEventBody, Stamp } from './history.ts';

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

  /** Takes the event over: it is stamped in place, since a copy of each would be a fair part of what a simulated run costs. */
  record(process: string, timeMs: number, body: HistoryEventBody): HistoryEvent {
    const stamped = body as HistoryEventBody & { -readonly [K in keyof Stamp]: Stamp[K] };
    stamped.seq = this.#events.length + 1;
    stamped.timeMs = timeMs;
    stamped.process = process;
    this.#events.push(stamped);
    return stamped;
  }
}
