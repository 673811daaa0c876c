/** How long a new primary waits for the one before it. */

import { describe, expect, it } from 'vitest';

import { Cluster, IDS } from './support/cluster.ts';

const REMOVAL_MS = 400;

/** Milliseconds of the simulation from the claim of the next primary until it serves. */
async function fromClaimToService(seed: number, fail: (cluster: Cluster, primary: string) => void): Promise<number> {
  const cluster = new Cluster(seed);
  const { world } = cluster;
  const until = async (condition: () => boolean): Promise<void> => {
    await world.run({ until: condition, maxMs: 60_000 });
    if (!condition()) throw new Error('it did not come to that within a minute');
  };
  for (const id of IDS) await world.complete(cluster.start(id));
  const served = (): string | undefined =>
    IDS.find((id) => cluster.member(id).serving !== undefined && cluster.configuration.primary === id);
  await until(() => served() !== undefined);
  const first = served() ?? '';
  await world.run({ forMs: 2_000 });
  fail(cluster, first);
  await until(() => cluster.configuration.primary !== first);
  const claimedMs = world.nowMs;
  await until(() => served() !== undefined && served() !== first);
  return world.nowMs - claimedMs;
}

describe('a primary that follows one that is gone', () => {
  it('does not wait for it when nothing has connected the two for the removal time', async () => {
    for (const seed of [1, 2, 3]) {
      const ms = await fromClaimToService(seed, (cluster, primary) => cluster.end(primary, 'kill'));
      expect(ms).toBeLessThan(REMOVAL_MS / 2);
    }
  });

  it('gives one that it is connected with its time, since that may only be busy', async () => {
    for (const seed of [1, 2, 3]) {
      const ms = await fromClaimToService(seed, (cluster, primary) => cluster.world.host(primary).pause());
      expect(ms).toBeGreaterThanOrEqual(REMOVAL_MS / 2);
    }
  });
});
