/** What a checker says of a history. The worst of several counts: false, then unknown, then true. */

import type { History } from '../history/history.ts';

export interface Broken {
  /** What was promised and what happened instead, in one sentence. */
  readonly message: string;
  /** The smallest part of the history that shows it: the numbers (`seq`) of its events, rising. */
  readonly events: readonly number[];
}

export interface Verdict {
  readonly checker: string;
  /** 'unknown' when there was nothing to check, or the search for an answer was given up: never as good as true. */
  readonly valid: boolean | 'unknown';
  readonly broken: readonly Broken[];
  /** How much of each kind was looked at, so that a verdict over nothing shows. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface CheckOptions {
  /** By how much any clock may have run faster or slower than the harness's. @default the product's bound */
  readonly clockRateError?: number;
  /** States that the search for a linearization visits before it gives up, for all registers together. @default 200,000 */
  readonly searchBudget?: number;
}

/** Pure: the same history gets the same verdict. */
export type Checker = (history: History, options?: CheckOptions) => Verdict;
