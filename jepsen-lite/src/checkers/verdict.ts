/** What a checker says of a history. The worst of several counts: false, then unknown, then true. */

import type { History } from '../history/history.ts';

export interface Broken {
  /** What was promised and what happened instead, in one sentence. */
  readonly message: string;
  /** The smallest part of the history that shows it: the numbers (`seq`) of its events, rising. */
  readonly events: readonly number[];
  /** Where no order explains the operations on one object: how far the search came. */
  readonly linearization?: PartialLinearization;
}

/** The longest part of a history that one order explains, and where it ends: the operations on one object. */
export interface PartialLinearization {
  /** The lock, node or key. */
  readonly object: string;
  /** The last operations that have a place in the order, in that order. */
  readonly ordered: readonly OrderedOperation[];
  /** How many have a place before those. */
  readonly orderedBefore: number;
  /** Of the object behind the last of them, in words. */
  readonly state: string;
  /** What has no place behind them. */
  readonly stuck: OrderedOperation;
  /** Under way with it, and without a place. */
  readonly concurrent: readonly OrderedOperation[];
  /** Returns that the order explains, of how many. */
  readonly explained: number;
  readonly returns: number;
}

export interface OrderedOperation {
  /** Who did what. */
  readonly text: string;
  /** The number (`seq`) of its call. */
  readonly invoke: number;
  /** The number of its answer; undefined where its outcome is unknown. */
  readonly answer: number | undefined;
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
