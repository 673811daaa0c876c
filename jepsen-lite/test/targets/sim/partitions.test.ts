import { describe, expect, it } from 'vitest';
import { Cluster } from '../../../src/targets/sim/cluster.ts';
import { apart } from '../../../src/targets/sim/connections.ts';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { serverHost } from '../../../src/plan/plan.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';

const calm = drawScenario(1);
const SCENARIO: Scenario = {
  ...calm,
  servers: 3,
  clients: calm.clients.slice(0, 1),
  tuning: { electionTimeoutMs: 1_000, heartbeatMs: 100, segmentBytes: 64 * 1024 },
  network: { minMs: 0.1, maxMs: 1 },
  disk: { minMs: 0.05, maxMs: 1 },
  durationMs: 1_000_000,
  faults: [],
};
const SERVERS = [1, 2, 3].map(serverHost);

/** A running ensemble whose servers are all connected. */
async function start(): Promise<Cluster> {
  const cluster = new Cluster(SCENARIO);
  cluster.start();
  expect(await cluster.runUntil(() => running(cluster) && apart(cluster).length === 0, 10_000)).toBe(true);
  await cluster.runUntil(() => false, 3_000);
  return cluster;
}

function running(cluster: Cluster): boolean {
  return [...cluster.servers.values()].every(({ serves }) => serves);
}

/** How long after the end of a cut all were connected. */
async function reconnectedInMs(cluster: Cluster, cut: (network: Cluster['world']['network']) => void, forMs: number) {
  const { world } = cluster;
  cut(world.network);
  await cluster.runUntil(() => false, forMs);
  world.network.heal();
  const healedMs = world.nowMs;
  await cluster.runUntil(() => apart(cluster).length === 0, 60_000);
  return world.nowMs - healedMs;
}

const LENGTHS_MS = [100, 250, 700, 1_450, 1_900, 2_100, 3_200, 7_000, 30_000];

describe('servers that a partition kept apart', { timeout: 60_000 }, () => {
  it.each([
    ['each of them', (network) => network.partition(SERVERS.map((server) => [server]))],
    ['one from the others', (network) => network.partition([['s1'], ['s2', 's3']])],
    ['one that nobody hears', (network) => SERVERS.slice(1).forEach((to) => network.cut('s1', to))],
    ['one that hears nobody', (network) => SERVERS.slice(1).forEach((from) => network.cut(from, 's1'))],
    ['two of them, one way', (network) => network.cut('s2', 's3')],
  ] satisfies [string, (network: Cluster['world']['network']) => void][])(
    '%s, are connected again within a second of its end, however long it was',
    async (_name, cut) => {
      const cluster = await start();
      for (const forMs of LENGTHS_MS) {
        const tookMs = await reconnectedInMs(cluster, cut, forMs);
        expect(tookMs, `after ${forMs} ms`).toBeLessThanOrEqual(1_000);
        await cluster.runUntil(() => false, 500);
      }
      expect(cluster.violation).toBeUndefined();
    },
  );

  it('say so themselves meanwhile, once nothing was heard for two election timeouts', async () => {
    const cluster = await start();
    const connected = (id: number, peer: number): boolean | undefined =>
      cluster.servers.get(serverHost(id))?.server?.status.members.find((member) => member.id === peer)?.connected;
    cluster.world.network.partition([['s1'], ['s2', 's3']]);
    await cluster.runUntil(() => false, 2_800);
    expect([connected(1, 2), connected(1, 3), connected(2, 1), connected(3, 1)]).toEqual([false, false, false, false]);
    expect([connected(2, 3), connected(3, 2)]).toEqual([true, true]);
  });

  it('are not taken for silent while they are only quiet, or one of them is busy or stopped for a second', async () => {
    const cluster = await start();
    const silences = (): number =>
      [...cluster.servers.values()].reduce((sum, { server }) => sum + (server?.peerSilences ?? 0), 0);
    await cluster.runUntil(() => false, 60_000);
    for (const name of SERVERS) {
      cluster.world.host(name).pause();
      await cluster.runUntil(() => false, 1_000);
      cluster.world.host(name).resume();
      await cluster.runUntil(() => false, 3_000);
    }
    expect(silences()).toBe(0);
  });

  it('by a process that was stopped for long are connected again as soon as it goes on', async () => {
    const cluster = await start();
    const { world } = cluster;
    for (const forMs of [3_000, 60_000]) {
      world.host('s2').pause();
      await cluster.runUntil(() => false, forMs);
      world.host('s2').resume();
      const resumedMs = world.nowMs;
      expect(apart(cluster)).not.toEqual([]);
      await cluster.runUntil(() => apart(cluster).length === 0, 60_000);
      expect(world.nowMs - resumedMs).toBeLessThanOrEqual(1_000);
      await cluster.runUntil(() => false, 3_000);
    }
  });
});
