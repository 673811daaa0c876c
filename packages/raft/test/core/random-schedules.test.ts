import { describe, expect, it } from 'vitest';
import { BrokenPromise, CoreCluster, type ClusterOptions } from './support/core-cluster.ts';

/** Faults and proposals drawn from the seed, then a healed cluster that must serve. Returns what was committed. */
function runSchedule(options: ClusterOptions): CoreCluster {
  const cluster = new CoreCluster(options);
  let proposed = 0;
  for (let step = 0; step < 120; step += 1) {
    const victim = 1 + Math.floor(cluster.random() * options.servers);
    const draw = cluster.random();
    const node = cluster.node(victim);
    if (draw < 0.1) cluster.crash(victim, cluster.random() < 0.5);
    else if (draw < 0.15) cluster.isolate(victim);
    else if (draw < 0.2) cluster.cut(victim, 1 + Math.floor(cluster.random() * options.servers));
    else if (draw < 0.3) cluster.heal();
    else if (draw < 0.35) cluster.pause(victim);
    else if (draw < 0.45 && node.paused) cluster.resume(victim);
    else if (draw < 0.5) cluster.event(victim, { type: 'transfer' });
    else if (draw < 0.55) cluster.event(victim, { type: 'read-index', ticket: step });
    else if (draw < 0.6) for (const { id } of cluster.nodes) cluster.crash(id);
    for (const down of cluster.nodes) if (!down.up && cluster.random() < 0.15) cluster.restart(down.id);
    for (let count = Math.floor(cluster.random() * 4); count > 0; count -= 1) {
      cluster.propose(cluster.leader?.id ?? victim, `command ${proposed}`);
      proposed += 1;
    }
    cluster.run(cluster.random() * (cluster.random() < 0.5 ? 20 : 600));
  }
  cluster.heal();
  for (const node of cluster.nodes) {
    if (!node.up) cluster.restart(node.id);
    else if (node.paused) cluster.resume(node.id);
  }
  return cluster;
}

function expectService(cluster: CoreCluster, seed: number): void {
  const elected = cluster.run(20_000, () => cluster.leader !== undefined);
  expect(elected, `seed ${seed}: no leader after healing`).toBe(true);
  const served = () => {
    const entry = cluster.committed.findLast(({ data }) => data.length > 0);
    if (entry === undefined || new TextDecoder().decode(entry.data) !== 'last') return false;
    return cluster.nodes.every((node) => node.appliedIndex === cluster.committed.length);
  };
  // A proposal may fall to a leader that is just being deposed.
  for (let attempt = 0; attempt < 5 && !served(); attempt += 1) {
    if (cluster.leader !== undefined) cluster.propose(cluster.leader.id, 'last');
    cluster.run(4_000, served);
  }
  expect(served(), `seed ${seed}: the healed cluster does not serve`).toBe(true);
}

describe('consensus under random faults', () => {
  it.each([3, 5])('keeps its promises and recovers, %i servers', (servers) => {
    for (let seed = 1; seed <= 400; seed += 1) {
      const cluster = runSchedule({
        servers,
        seed,
        repeat: seed % 3 === 0 ? 0.1 : 0,
        diskMs: seed % 2 === 0 ? [1, 30] : [0.1, 3],
      });
      expectService(cluster, seed);
    }
  });

  it('keeps its promises when messages are lost and repeated', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const cluster = runSchedule({ servers: 3, seed, loss: 0.1, repeat: 0.1 });
      cluster.run(20_000, () => cluster.leader !== undefined);
      expect(cluster.committed.length, `seed ${seed}`).toBeGreaterThan(0);
    }
  });

  it('reads entries for a lagging peer from disk when memory has let them go', () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      expectService(runSchedule({ servers: 3, seed, config: { tailBytes: 10 } }), seed);
    }
  });

  it('makes the same run of the same seed', () => {
    const trace = () =>
      runSchedule({ servers: 5, seed: 42, repeat: 0.1 }).committed.map(({ term, data }) => [term, ...data]);
    expect(trace()).toEqual(trace());
  });
});

describe('the checks of this suite', () => {
  const caught = (tamper: NonNullable<ClusterOptions['tamper']>): number => {
    for (let seed = 1; seed <= 300; seed += 1) {
      try {
        runSchedule({ servers: 3, seed, tamper, diskMs: [1, 30] });
      } catch (error) {
        if (error instanceof BrokenPromise || (error instanceof Error && error.name === 'InvariantError')) return seed;
        throw error;
      }
    }
    return 0;
  };

  it('notice votes that are not durable', () => {
    expect(
      caught((effect) => (effect.type === 'persist' ? { ...effect, hardState: undefined } : effect)),
    ).toBeGreaterThan(0);
  });

  it('notice acknowledgements that precede the durable write', () => {
    expect(
      caught((effect) =>
        effect.type === 'send' && effect.message.type === 'append-response' ? { ...effect, after: undefined } : effect,
      ),
    ).toBeGreaterThan(0);
  });
});
