import type { HistoryEventBody } from '../../../src/history/history.ts';

/** Where a stretch of a history is told, by whoever makes the rest of it. */
export interface Around {
  /** A millisecond after what was told before. */
  readonly record: (process: string, body: HistoryEventBody) => void;
  readonly nextCall: () => number;
  /** Of the log. */
  readonly nextIndex: () => number;
  readonly pass: (ms: number) => void;
  /** A number below the bound, by the seed of the history. */
  readonly choose: (bound: number) => number;
}
