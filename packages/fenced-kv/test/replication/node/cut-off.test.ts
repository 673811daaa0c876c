/** A primary that reaches the ensemble, and not the other replicas. */

import { describe, expect, it } from 'vitest';

import { Cluster, IDS } from './support/cluster.ts';

async function serving(
  cluster: Cluster,
  isWanted: (id: string) => boolean,
  maxMs: number,
): Promise<string | undefined> {
  const found = (): string | undefined =>
    IDS.find((id) => isWanted(id) && cluster.member(id).serving !== undefined && cluster.configuration.primary === id);
  await cluster.world.run({ until: () => found() !== undefined, maxMs });
  return found();
}

async function begun(seed: number): Promise<{ readonly cluster: Cluster; readonly first: string }> {
  const cluster = new Cluster(seed);
  for (const id of IDS) await cluster.world.complete(cluster.start(id));
  const first = await serving(cluster, () => true, 20_000);
  if (first === undefined) throw new Error('nobody came to serve');
  return { cluster, first };
}

describe('a primary that is cut off from the others, and not from the ensemble', () => {
  it('lets another one take its place', async () => {
    const { cluster, first } = await begun(3);
    cluster.world.network.partition([[first], IDS.filter((id) => id !== first)]);
    const next = await serving(cluster, (id) => id !== first, 60_000);
    expect(next).toBeDefined();
    expect(cluster.configuration.inSync).not.toContain(first);
  });

  it('keeps its place when a minority is silent', async () => {
    const { cluster, first } = await begun(3);
    const [silent = ''] = IDS.filter((id) => id !== first);
    cluster.end(silent, 'kill');
    await cluster.world.run({ forMs: 30_000 });
    expect(cluster.configuration.primary).toBe(first);
    expect(cluster.member(first).serving).toBeDefined();
    expect(cluster.configuration.inSync).not.toContain(silent);
  });
});
