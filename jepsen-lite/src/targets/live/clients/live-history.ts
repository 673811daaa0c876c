/**
 * The history of a live run: events of many processes, each stamped where it happened by the clock that all of them share, put in the
 * order of their stamps once the run is over. Of two events of one process, the one that was told first comes first.
 */

import type { HistoryEvent, HistoryEventBody } from '../../../history/history.ts';

const NS_PER_MS = 1e6;
/** Digits behind the point of a millisecond that tell something: a microsecond. */
const PRECISION = 1e3;

interface Stamped {
  readonly process: string;
  readonly at: bigint;
  readonly body: HistoryEventBody;
}

export class LiveHistory {
  readonly #originNs: bigint;
  readonly #events: Stamped[] = [];

  constructor(originNs: bigint) {
    this.#originNs = originNs;
  }

  get size(): number {
    return this.#events.length;
  }

  add(process: string, at: bigint, body: HistoryEventBody): void {
    this.#events.push({ process, at, body });
  }

  /** In milliseconds since the beginning of the run. */
  timeMs(at: bigint): number {
    return Math.max(0, Math.round((Number(at - this.#originNs) / NS_PER_MS) * PRECISION) / PRECISION);
  }

  /** All of them, numbered in their order. */
  merged(): HistoryEvent[] {
    // Sorting keeps the order in which equal stamps were told.
    return this.#events
      .toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
      .map(({ process, at, body }, n) => ({ seq: n + 1, timeMs: this.timeMs(at), process, ...body }) as HistoryEvent);
  }
}
