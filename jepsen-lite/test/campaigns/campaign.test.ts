import { beforeAll, describe, expect, it } from 'vitest';
import { drawScenario } from '../../src/scenario/draw/draw.ts';
import { runScenario, runSeed } from '../../src/targets/sim/run.ts';
import { reportOf, type SeedReport } from '../../src/campaigns/seed-report.ts';
import { CampaignSummary } from '../../src/campaigns/summary.ts';
import { FREQUENT_MARKS, MARKS, type MarkCounts } from '../../src/targets/sim/marks/mark.ts';
import { shrinkScenario } from '../../src/campaigns/shrink-scenario.ts';
import type { Scenario } from '../../src/scenario/scenario.ts';

describe('the summary of a campaign', () => {
  it('adds up what the seeds did', async () => {
    const result = await runSeed(6);
    const report = structuredClone(reportOf(result));
    const summary = new CampaignSummary();
    summary.add(report);
    summary.add(report);
    expect(summary.simulatedHours).toBeCloseTo((2 * result.simulatedMs) / 3_600_000);
    expect(summary.failures).toEqual([]);
    expect(report.commands).toBe([...result.commands.values()].reduce((sum, count) => sum + count, 0));
    const text = summary.text({ wallMs: 60_000, threads: 2 });
    expect(text).toContain(`2 seeds, 0 failed`);
    expect(text).toContain(`${2 * report.commands} client commands`);
    expect(text).toMatch(new RegExp(`unsynced-name-lost +${2 * (report.struck['unsynced-name-lost'] ?? 0)}\\n`));
    expect(text).toMatch(new RegExp(`partition +${2 * (report.begun['partition'] ?? 0)}\\n`));
  });

  it('says in how many runs a nemesis was scheduled and did nothing', async () => {
    const result = await runScenario({
      ...drawScenario(6),
      faults: [{ kind: 'pause', atMs: 1, forMs: 10, host: 'holder:no-lock' }],
      durationMs: 3_000,
    });
    const report = reportOf(result);
    expect(report.idle).toEqual(['pause']);
    const summary = new CampaignSummary();
    summary.add(report);
    summary.add({ ...report, idle: [] });
    expect(summary.text({ wallMs: 1, threads: 1 })).toMatch(/did nothing:\n +pause +1(\n|$)/);
  });

  it('says what a long campaign has not met, so that a run without faults cannot pass', async () => {
    const calm = reportOf(await runScenario({ ...drawScenario(6), faults: [], durationMs: 3_000 }));
    expect(missedAfter(calm, 299)).toEqual([]);
    expect(missedAfter(calm, 300)).toEqual(
      expect.arrayContaining([
        'the nemesis pause',
        'frame-held-by-cut',
        'crash',
        'fence.stale',
        'batchesComplete',
        'batchesLate',
      ]),
    );
  });
});

describe('the coverage marks of a campaign', () => {
  const all = Object.fromEntries(Object.keys(MARKS).map((name) => [name, 2]));
  let calm: SeedReport;
  const of = (marks: MarkCounts): SeedReport => ({ ...calm, marks });

  beforeAll(async () => {
    calm = reportOf(await runScenario({ ...drawScenario(6), faults: [], durationMs: 3_000 }));
  });

  const marksOf = (names: readonly string[]): string[] => names.filter((name) => name in MARKS);

  it('are counted, with the seeds that hit them', () => {
    const summary = new CampaignSummary();
    for (const report of [of(all), of({ 'window-full': 3 }), of({})]) summary.add(report);
    const text = summary.text({ wallMs: 60_000, threads: 2 });
    expect(text).toMatch(/window-full +5 +2\n/);
    expect(text).toMatch(/torn-tail-cut +2 +1\n/);
  });

  it('fail 300 seeds for want of a frequent one, and 2,000 for want of any', () => {
    const none = of({});
    expect(marksOf(missedAfter(none, 299))).toEqual([]);
    expect(marksOf(missedAfter(none, 1_999)).toSorted()).toEqual([...FREQUENT_MARKS].toSorted());
    expect(marksOf(missedAfter(none, 2_000))).toEqual(Object.keys(MARKS));
    expect(marksOf(missedAfter(of(all), 2_000))).toEqual([]);
  });
});

describe('a failing scenario', () => {
  it('is shrunk to the faults that it takes', { timeout: 60_000 }, async () => {
    const noise = drawScenario(12).faults.slice(0, 3);
    const failing: Scenario = {
      ...drawScenario(12),
      servers: 3,
      clients: [{ name: 'c1', sessionTimeoutMs: 2_000, workers: 1 }],
      durationMs: 30_000,
      // Two of three machines without their log: nobody can recover from that.
      faults: [
        ...noise,
        { kind: 'bit-flip', atMs: 29_900, host: 's1', at: 0.5, bit: 1 },
        { kind: 'crash', atMs: 29_901, forMs: 10, hosts: ['s1'], tear: 'none' },
        { kind: 'bit-flip', atMs: 29_900, host: 's2', at: 0.5, bit: 1 },
        { kind: 'crash', atMs: 29_901, forMs: 10, hosts: ['s2'], tear: 'none' },
      ],
    };
    const { failure } = await runScenario(failing);
    expect(failure?.name).toBe('the-healed-cluster-works');
    const { smallest } = await shrinkScenario(failing, 'the-healed-cluster-works', { maxTries: 12 });
    const kinds = smallest.faults.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'bit-flip')).toHaveLength(2);
    expect(kinds.length).toBeLessThan(failing.faults.length);
    expect((await runScenario(smallest)).failure?.name).toBe('the-healed-cluster-works');
  });
});

function missedAfter(report: SeedReport, seeds: number): string[] {
  const summary = new CampaignSummary();
  for (let seed = 0; seed < seeds; seed += 1) summary.add(report);
  return summary.missed;
}
