import { DurationHistogram, type StageHistograms } from '@holdfast/raft';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { StageMetric } from '../../src/http/stage-metric.ts';

function histograms(): StageHistograms {
  return {
    persisted: new DurationHistogram(),
    replicated: new DurationHistogram(),
    committed: new DurationHistogram(),
    applied: new DurationHistogram(),
  };
}

async function lines(read: () => StageHistograms | undefined): Promise<string[]> {
  const registry = new Registry();
  registry.registerMetric(new StageMetric(read));
  return (await registry.metrics()).split('\n').filter((line) => !line.startsWith('#') && line !== '');
}

describe('the histograms of the stages', () => {
  it('count up to each bound, in seconds, and count everything without one', async () => {
    const stages = histograms();
    for (const ms of [0.1, 0.2, 3, 20_000]) stages.committed.note(ms);
    const committed = (await lines(() => stages)).filter((line) => line.includes('stage="committed"'));
    expect(committed).toEqual(
      expect.arrayContaining([
        'holdfast_batch_stage_seconds_bucket{stage="committed",le="0.0001"} 1',
        'holdfast_batch_stage_seconds_bucket{stage="committed",le="0.00025"} 2',
        'holdfast_batch_stage_seconds_bucket{stage="committed",le="0.0025"} 2',
        'holdfast_batch_stage_seconds_bucket{stage="committed",le="0.005"} 3',
        'holdfast_batch_stage_seconds_bucket{stage="committed",le="10"} 3',
        'holdfast_batch_stage_seconds_bucket{stage="committed",le="+Inf"} 4',
        'holdfast_batch_stage_seconds_count{stage="committed"} 4',
      ]),
    );
    const sum = committed.find((line) => line.includes('_sum'));
    expect(Number(sum?.split(' ').at(-1))).toBeCloseTo(20.0033);
  });

  it('follow what the replica counts meanwhile', async () => {
    const stages = histograms();
    const metric = new StageMetric(() => stages);
    const count = async () =>
      (await metric.get()).values.find(({ metricName }) => metricName?.endsWith('_count'))?.value;
    expect(await count()).toBe(0);
    stages.persisted.note(1);
    expect(await count()).toBe(1);
  });

  it('have no values before there is a replica', async () => {
    expect(await lines(() => undefined)).toEqual([]);
  });
});
