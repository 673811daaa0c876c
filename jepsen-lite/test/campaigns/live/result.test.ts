import { describe, expect, it } from 'vitest';
import type { Verdict } from '../../../src/checkers/verdict.ts';
import { EXIT_CODES, judge } from '../../../src/campaigns/live/result.ts';

const OPERATIONS = { acquire: { invoke: 3, ok: 2, fail: 1, info: 0 } };
const verdict = (checker: string, valid: Verdict['valid']): Verdict => ({
  checker,
  valid,
  broken: valid === false ? [{ message: 'it is wrong', events: [1] }] : [],
  counts: {},
});
const RUN = {
  failure: undefined,
  idle: [],
  verdicts: [verdict('tokens', true)],
  expected: verdict('expectations', true),
};
const exitCode = (run: Partial<Parameters<typeof judge>[0]>, operations: Parameters<typeof judge>[1] = OPERATIONS) =>
  EXIT_CODES[judge({ ...RUN, ...run }, operations).verdict];

describe('the end of a run', () => {
  it('is 0 when nothing was wrong', () => {
    expect(exitCode({})).toBe(0);
  });

  it('is 1 when something was, whatever else is unknown', () => {
    expect(exitCode({ failure: { name: 'x', message: 'y' } })).toBe(1);
    expect(exitCode({ verdicts: [verdict('registers', 'unknown'), verdict('tokens', false)] })).toBe(1);
    expect(exitCode({ failure: { name: 'x', message: 'y' } }, {})).toBe(1);
  });

  it('is 1 when a nemesis was scheduled and did nothing', () => {
    expect(judge({ ...RUN, idle: ['pause'] }, OPERATIONS)).toEqual({
      verdict: 'invalid',
      why: 'scheduled, and nothing was seen of it: pause',
    });
  });

  it('is unknown when nobody has an entry any more, and is no fault of the servers', () => {
    const cut = 'entry 389 is in snapshots only, and was not copied before';
    expect(judge({ ...RUN, log: { cut } }, OPERATIONS)).toEqual({
      verdict: 'unknown',
      why: `the servers' logs are not whole: ${cut}`,
    });
    expect(judge({ ...RUN, log: { cut: undefined } }, OPERATIONS)).toMatchObject({ verdict: 'valid' });
  });

  it('is 2 when an observer was to join and nobody was answered by it', () => {
    expect(judge({ ...RUN, unserved: true }, OPERATIONS)).toEqual({
      verdict: 'unknown',
      why: 'an observer was to join, and answered no client',
    });
    expect(exitCode({ unserved: true, verdicts: [verdict('tokens', false)] })).toBe(1);
  });

  it('is 2 when no client called anything, or one of the operations never succeeded', () => {
    expect(exitCode({}, {})).toBe(2);
    expect(exitCode({}, { ...OPERATIONS, put: { invoke: 4, ok: 0, fail: 4, info: 0 } })).toBe(2);
  });

  it('is 2 when a workload has shown less than it demands, as a control that lost nothing', () => {
    const broken = [{ message: 'unfenced: "lostUpdates" was 0, at least 1 was expected', events: [] }];
    expect(judge({ ...RUN, expected: { ...verdict('expectations', 'unknown'), broken } }, OPERATIONS)).toEqual({
      verdict: 'unknown',
      why: 'it has shown too little: unfenced: "lostUpdates" was 0, at least 1 was expected',
    });
  });

  it('is 2 when a checker gave up, but not when what it judges did not happen by chance', () => {
    expect(exitCode({ verdicts: [verdict('registers', 'unknown')] })).toBe(2);
    expect(exitCode({ verdicts: [verdict('expiry', 'unknown')] })).toBe(0);
  });
});
