import { describe, expect, it } from 'vitest';

import { shortfalls } from './support/expectations.ts';
import { describeFailure, runProperties } from '../../src/properties/run-properties.ts';

const RUNS = 60;

describe('the state machine under a few random scripts', () => {
  it('keeps its promises, in scripts that put each of them to the test', { timeout: 60_000 }, () => {
    const report = runProperties({ runs: RUNS, commands: 200, seed: 1 });
    expect(describeFailure(report)).toBe('no promise was broken');
    expect(shortfalls(report.coverage, RUNS / 4)).toEqual([]);
  });
});
