/** What the measurement of watches that go on elsewhere and its processes of clients say to each other. */

import type { Comparison } from './comparison.ts';

export type ResumeOrder =
  | {
      readonly type: 'gather';
      readonly servers: readonly string[];
      /** Numbers of the clients: from `first` on, `count` of them. */
      readonly first: number;
      readonly count: number;
      readonly sessionTimeoutMs: number;
      /** How many parents there are that some of the clients watch, beside the one that all do. */
      readonly parents: number;
    }
  /** The leader was killed at `sinceMs` of the wall clock, which all processes share. Whoever hears of `mark` has resumed. */
  | { readonly type: 'struck'; readonly sinceMs: number; readonly mark: string }
  /** What was changed since the last comparison: of each parent, the indexes in their order. */
  | { readonly type: 'compare'; readonly changes: readonly (readonly [parent: string, indexes: readonly number[]])[] };

interface Gathered {
  readonly type: 'gathered';
}

interface Resumed {
  readonly type: 'resumed';
  /** From the kill to when each client heard of the mark; of those that did not, nothing. */
  readonly ms: readonly number[];
  readonly expired: number;
  readonly processorSeconds: number;
}

interface Compared extends Comparison {
  readonly type: 'compared';
  /** Watches that were told that they had missed something, or that have ended. */
  readonly broken: number;
}

export type ResumeReport = Gathered | Resumed | Compared;
