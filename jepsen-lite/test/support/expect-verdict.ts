/** What tests say of verdicts. */

import { expect } from 'vitest';

import type { Verdict } from '../../src/checkers/verdict.ts';
import type { HistoryEvent } from '../../src/history/history.ts';
import { witnesses } from './story.ts';

/** One thing is broken, in these words, and these events show it. */
export function expectBroken(verdict: Verdict, words: RegExp, ...events: readonly HistoryEvent[]): void {
  expect(verdict.broken.map(({ message }) => message)).toEqual([expect.stringMatching(words)]);
  expect(verdict.broken[0]?.events).toEqual(witnesses(...events));
  expect(verdict.valid).toBe(false);
}

export function expectValid(verdict: Verdict): void {
  expect(verdict.broken).toEqual([]);
  expect(verdict.valid).toBe(true);
}

export function expectUnknown(verdict: Verdict): void {
  expect(verdict.broken).toEqual([]);
  expect(verdict.valid).toBe('unknown');
}
