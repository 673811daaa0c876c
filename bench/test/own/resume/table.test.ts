import { describe, expect, it } from 'vitest';

import type { ResumeRound } from '../../../src/own/resume/resume.ts';
import { RESUME_HEAD, isWhole, resumeRow } from '../../../src/own/resume/table.ts';

const ROUND: ResumeRound = {
  round: 2,
  resumed: 100,
  lastMs: 900,
  medianMs: 400,
  expired: 0,
  broken: 0,
  changes: 50,
  told: 4_600,
  missed: 0,
  surplus: 0,
  serverSeconds: 1.26,
  clientSeconds: 0.5,
};

describe('a round of clients that go on elsewhere', () => {
  it('is a line of the table', () => {
    const row = resumeRow(ROUND, 3.14);
    expect(row).toBe('| 2 | 900 | 400 | 100 | 0 | 50 | 4600 | 0 | 0 | 0 | 1.3, 0.5 | 3.1 |');
    expect(row.split('|')).toHaveLength(RESUME_HEAD[0].split('|').length);
  });

  it.each<[string, Partial<ResumeRound>]>([
    ['somebody did not resume', { resumed: 99 }],
    ['a session expired', { expired: 1 }],
    ['a watch ended', { broken: 1 }],
    ['a change was not told', { missed: 1 }],
    ['a change was told twice', { surplus: 1 }],
    ['hardly anything was told', { told: 99 }],
  ])('is not whole when %s', (_, over) => {
    expect(isWhole(100, ROUND)).toBe(true);
    expect(isWhole(100, { ...ROUND, ...over })).toBe(false);
  });
});
