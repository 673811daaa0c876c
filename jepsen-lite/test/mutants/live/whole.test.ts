import { describe, expect, it } from 'vitest';
import { anyNeeds } from '../../../src/nemeses/index.ts';
import { LIVE_MUTANTS } from '../../../src/mutants/live/catalogue.ts';
import { renderWholeReport, wholeAsData } from '../../../src/mutants/live/whole/report.ts';
import { runWhole, type WholeAttempt, type WholeResult } from '../../../src/mutants/live/whole/run-whole.ts';
import { wholeRun } from '../../../src/mutants/live/whole/scenarios.ts';
import { decodeScenario, encodeScenario } from '../../../src/scenario/scenario-file.ts';

const shown = LIVE_MUTANTS.flatMap((mutant) => ('run' in mutant.whole ? { mutant, ...mutant.whole } : []));

describe('whole live runs for planted bugs', () => {
  it('are named by twelve bugs at least, with the reason by which each is known', () => {
    expect(shown.length).toBeGreaterThanOrEqual(12);
    for (const { as } of shown) {
      expect(as.length).toBeGreaterThan(0);
      for (const reason of as) expect('nothing was wrong').not.toMatch(reason);
    }
  });

  it.each([...new Set(shown.map(({ run }) => run))])(
    '%s is a scenario that any seed draws, and that a file keeps',
    (run) => {
      for (const seed of [1, 2]) {
        const scenario = wholeRun(run, seed);
        expect(scenario.faults.length).toBeGreaterThan(0);
        expect(scenario.faults.every(({ atMs }) => atMs < scenario.durationMs)).toBe(true);
        // On the loopback there are none.
        expect(anyNeeds(scenario.faults, 'links')).toBe(false);
        const saved = encodeScenario({ scenario, failure: undefined, traceHash: '' });
        expect(decodeScenario(saved).scenario).toEqual(scenario);
      }
      expect(wholeRun(run, 1)).not.toEqual(wholeRun(run, 2));
    },
  );

  it('are refused for a bug that none can show, with the reason', async () => {
    await expect(runWhole({ names: ['sync-does-nothing'] })).rejects.toThrow(/1 MiB of log/);
    await expect(runWhole({ names: ['no-such-bug'] })).rejects.toThrow(/there is no live mutant "no-such-bug"/);
  });
});

describe('the report of whole runs', () => {
  const [bug] = shown;
  if (bug === undefined) throw new Error('no bug is shown by a whole run');
  const attempt = (seed: number, as: string, kept?: string): WholeAttempt => ({
    seed,
    expected: kept === undefined,
    as,
    wallMs: 20_000,
    began: true,
    kept,
  });
  const of = (
    mutant: typeof bug.mutant | undefined,
    attempts: readonly WholeAttempt[],
    passed: boolean,
  ): WholeResult => ({
    mutant,
    run: bug.run,
    attempts,
    passed,
  });
  const results = [
    of(
      bug.mutant,
      [attempt(1, 'invalid: history: tokens: token 10'), attempt(2, 'valid: nothing was wrong', '/kept')],
      false,
    ),
    of(undefined, [attempt(1, 'valid: nothing was wrong')], true),
  ];

  it('says how often each bug was shown, and where a run is kept that did not show it', () => {
    const text = renderWholeReport(results);
    expect(text).toContain(
      `${bug.mutant.name}: shown by ${bug.run}, 1 of 2 FAILED: invalid: history: tokens: token 10 (40 s)`,
    );
    expect(text).toContain('seed 2: valid: nothing was wrong (see /kept)');
    expect(text).toContain(`control: the product itself, ${bug.run}: 1 of 1 valid (20 s)`);
    expect(text).toMatch(/whole runs: 0 of 1 planted bugs shown; FAILED$/);
  });

  it('keeps as data what a table needs', () => {
    const row = { run: bug.run, expected: 1, runs: 2, as: ['history: tokens'], medianSeconds: 20 };
    expect(wholeAsData(results)).toMatchObject({
      bugs: { [bug.mutant.name]: row },
      controls: { [bug.run]: { expected: 1, runs: 1, as: [] } },
    });
  });
});
