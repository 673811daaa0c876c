import { describe, expect, it } from 'vitest';

import { Results } from '../../src/report/results.ts';
import { BenchRun, FULL, QUICK } from '../../src/works/bench-run.ts';

describe('a run of which one work fails', () => {
  it('says so, and goes on with the next', async () => {
    const said: string[] = [];
    const run = new BenchRun(QUICK, [], { directory: '/nowhere', results: new Results(undefined) }, (line) =>
      said.push(line),
    );
    const measured: string[] = [];
    await run.attempt('restart', () => Promise.reject(new Error('the server did not come back')));
    await run.attempt('memory', () => {
      measured.push('memory');
      return Promise.resolve();
    });
    expect(measured).toEqual(['memory']);
    expect(run.failures).toEqual(['restart: the server did not come back']);
    expect(said).toEqual([
      'FAILED restart: the server did not come back',
      expect.stringMatching(/^memory: took \d+ s$/),
    ]);
  });
});

describe('a run for the record', () => {
  it('measures every row at least five times', () => {
    const { windows, killTrials, watchRounds, restartTrials, ephemerals } = FULL;
    for (const times of [windows, killTrials, watchRounds, restartTrials, ephemerals.looks])
      expect(times).toBeGreaterThanOrEqual(5);
  });
});
