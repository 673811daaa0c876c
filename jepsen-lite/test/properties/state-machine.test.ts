import { describe, expect, it } from 'vitest';

import { shortfalls } from './support/expectations.ts';
import { describeFailure, runProperties } from '../../src/properties/run-properties.ts';

const RUNS = Number(process.env['HOLDFAST_PROPERTY_RUNS'] ?? 100);
const SEED = Number(process.env['HOLDFAST_PROPERTY_SEED'] ?? 1);

describe('the state machine under a hundred random scripts', () => {
  it('keeps its promises, in scripts that put each of them to the test', { timeout: 60_000 + RUNS * 300 }, () => {
    const report = runProperties({ runs: RUNS, commands: 240, seed: SEED });
    expect(describeFailure(report)).toBe('no promise was broken');
    expect(report.runs).toBe(RUNS);
    expect(shortfalls(report.coverage, RUNS / 4)).toEqual([]);
  });
});
