import { describe, expect, it } from 'vitest';
import { LIVE_MUTANTS } from '../../../src/mutants/live/catalogue.ts';
import { renderLiveReport } from '../../../src/mutants/live/report.ts';
import { runLiveMutants, type LiveResult } from '../../../src/mutants/live/run-live-mutants.ts';

const [mutant] = LIVE_MUTANTS;
const failure = { kind: 'promise', name: 'durability', message: 'it is gone' } as const;

function result(of: Partial<LiveResult>): LiveResult {
  return { mutant, detector: 'durability', failures: [failure], passed: true, wallMs: 1_234, ...of };
}

describe('the report on live mutants', () => {
  it('tells of each what noticed it, how often, and as what', () => {
    const missed = result({ failures: [failure, undefined], passed: false });
    const control = result({ mutant: undefined, failures: [undefined] });
    expect(renderLiveReport([result({}), missed, control]).split('\n')).toEqual([
      'append-without-o-dsync: caught by durability, 1 of 1: durability: it is gone (1.2 s)',
      'append-without-o-dsync: SURVIVED by durability, 1 of 2: durability: it is gone (1.2 s)',
      'control: the product itself, durability: nothing found (1.2 s)',
      'live mutants: 1 of 2 caught; FAILED',
    ]);
  });

  it('fails when something is found in the product itself', () => {
    const control = result({ mutant: undefined, passed: false });
    expect(renderLiveReport([result({}), control])).toContain('durability: FAILED: durability: it is gone');
    expect(renderLiveReport([result({}), control])).toMatch(/1 of 1 caught; FAILED$/);
  });
});

describe('a hunt for live mutants', () => {
  it('refuses a name that none has, and says which there are', async () => {
    await expect(runLiveMutants({ names: ['nope'] })).rejects.toThrow(
      /there is no live mutant "nope"; there are append-/,
    );
  });
});
