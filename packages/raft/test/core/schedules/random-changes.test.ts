import { describe, expect, it } from 'vitest';
import { EntryType, decodeConfiguration, isJoint } from '../../../src/core/index.ts';
import type { CoreCluster } from '../support/core-cluster.ts';
import { changes } from '../support/random-changes.ts';
import { expectService, runSchedule } from '../support/random-schedule.ts';

function ended(clusters: readonly CoreCluster[], outcome: string): number {
  return clusters.reduce(
    (count, cluster) => count + [...cluster.changes.values()].filter(({ type }) => type === outcome).length,
    0,
  );
}

describe('an ensemble that is changed under random faults', () => {
  it.each([1, 3, 5])('keeps its promises, recovers, and gives every change one outcome, from %i servers', (servers) => {
    const clusters: CoreCluster[] = [];
    for (let seed = 1; seed <= 120; seed += 1) {
      const diskMs = seed % 2 === 0 ? ([1, 30] as const) : ([0.1, 3] as const);
      const cluster = runSchedule({ servers, spares: 8, seed, repeat: seed % 3 === 0 ? 0.1 : 0, diskMs }, changes());
      expectService(cluster, seed);
      clusters.push(cluster);
    }
    expect(ended(clusters, 'changed')).toBeGreaterThan(120);
    expect(ended(clusters, 'refused')).toBeGreaterThan(20);
    expect(ended(clusters, 'unknown')).toBeGreaterThan(0);
  });

  it('does so while messages are lost, and learners are fed from disk', () => {
    const config = { tailBytes: 100, maxInflightMessages: 2, maxInflightBytes: 300, maxAppendBytes: 200 };
    for (let seed = 1; seed <= 80; seed += 1) {
      expectService(runSchedule({ servers: 3, spares: 6, seed, config, loss: 0.05, repeat: 0.05 }, changes()), seed);
    }
  });

  it('does so while logs are compacted, so that configurations come from snapshots', () => {
    let restored = 0;
    for (let seed = 1; seed <= 80; seed += 1) {
      const cluster = runSchedule({ servers: 3, spares: 6, seed, snapshotEvery: 8, diskMs: [1, 30] }, changes());
      expectService(cluster, seed);
      restored += cluster.snapshotsRestored;
    }
    expect(restored).toBeGreaterThan(80);
  });
});

describe('a run with changes', () => {
  it('is the same with the same seed, and has joint configurations in it', () => {
    const trace = () =>
      runSchedule({ servers: 3, spares: 8, seed: 7 }, changes()).committed.map(({ term, data }) => [term, ...data]);
    expect(trace()).toEqual(trace());
    const joint = runSchedule({ servers: 3, spares: 8, seed: 7 }, changes()).committed.filter(
      ({ type, data }) => type === EntryType.configuration && isJoint(decodeConfiguration(data)),
    );
    expect(joint.length).toBeGreaterThan(0);
  });
});
