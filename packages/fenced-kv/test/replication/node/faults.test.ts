import { describe, expect, it } from 'vitest';

import type { Rules } from '../../../src/replication/core/index.ts';
import { RefusedError } from '../../../src/refusal.ts';
import { Cluster, IDS } from './support/cluster.ts';

const SEEDS = Number(process.env['HOLDFAST_REPLICATION_NODE_SEEDS'] ?? 8);
/** A bug must be noticed within so many. */
const MUTANT_SEEDS = 20;
const WRITERS = 3;
const FAULTS = 14;
const TOKEN = 1;

/** Of each writer: what was sent, acknowledged, and seen by a reader. */
interface Known {
  readonly sent: number[];
  readonly acknowledged: number[];
  readonly seen: number[];
}

interface Run {
  readonly cluster: Cluster;
  readonly known: Known;
  readonly violations: string[];
  reads: number;
  over: boolean;
}

/** Writes 1, 2, 3, … to a key of its own, wherever somebody serves. */
async function write(run: Run, writer: number): Promise<void> {
  const { cluster, known } = run;
  while (!run.over) {
    const { serving } = cluster;
    const at = serving[writer % Math.max(1, serving.length)];
    if (at !== undefined) {
      const number = (known.sent[writer] ?? 0) + 1;
      known.sent[writer] = number;
      const value = new TextEncoder().encode(String(number));
      const written = at.store.write('b', [{ key: `k${writer}`, value }], { token: TOKEN });
      // A client of a replica that has died gets no answer.
      const answered = await Promise.race([
        written.then(
          () => true,
          () => false,
        ),
        cluster.sleep(1_500),
      ]);
      if (answered === true) known.acknowledged[writer] = number;
    }
    await cluster.sleep(25);
  }
}

/** What is read is at least what was acknowledged, or read by anybody, before it was asked. */
async function read(run: Run, reader: number): Promise<void> {
  const { cluster, known } = run;
  while (!run.over) {
    const { serving } = cluster;
    const at = serving[reader % Math.max(1, serving.length)];
    if (at !== undefined) {
      const least = [...Array(WRITERS).keys()].map((writer) =>
        Math.max(known.acknowledged[writer] ?? 0, known.seen[writer] ?? 0),
      );
      const confirmed = at.engine
        .confirm()
        .then(() => [...Array(WRITERS).keys()].map((w) => numberOf(at.store, `k${w}`)));
      const found = await Promise.race([confirmed.catch(() => undefined), cluster.sleep(1_500)]);
      if (Array.isArray(found)) {
        run.reads += 1;
        for (const [writer, number] of found.entries()) {
          const most = known.sent[writer] ?? 0;
          const ok = number >= (least[writer] ?? 0) && number <= most;
          if (!ok) run.violations.push(`read k${writer} as ${number}, at least ${least[writer]}, at most ${most}`);
          known.seen[writer] = Math.max(known.seen[writer] ?? 0, number);
        }
      }
    }
    await cluster.sleep(40);
  }
}

function numberOf(store: Cluster['serving'][number]['store'], key: string): number {
  try {
    return Number(new TextDecoder().decode(store.get('b', key).value));
  } catch (error) {
    if (error instanceof RefusedError) return 0;
    throw error;
  }
}

async function strike({ cluster }: Run, draw: (bound: number) => number): Promise<void> {
  const { world } = cluster;
  const victim = IDS[draw(IDS.length)] ?? 'r1';
  const host = world.host(victim);
  switch (draw(8)) {
    case 0:
    case 1:
      if (host.state !== 'down') cluster.end(victim, (['kill', 'none', 'all', 'random'] as const)[draw(4)] ?? 'kill');
      return;
    case 2:
      if (host.state === 'up') host.pause();
      return;
    case 3:
      return world.network.partition([[victim], IDS.filter((id) => id !== victim)]);
    case 4:
      cluster.member(victim).hidden = true;
      return;
    case 5:
      for (const id of IDS) cluster.member(id).hidden = true;
      return;
    case 6:
      for (const id of IDS) if (world.host(id).state !== 'down') cluster.end(id, 'random');
      return await restart(cluster);
    default:
      return await heal(cluster);
  }
}

async function restart(cluster: Cluster): Promise<void> {
  for (const id of IDS) {
    if (cluster.world.host(id).state === 'down') await cluster.world.complete(cluster.start(id));
  }
}

async function heal(cluster: Cluster): Promise<void> {
  cluster.world.network.heal();
  for (const id of IDS) {
    cluster.member(id).hidden = false;
    if (cluster.world.host(id).state === 'paused') cluster.world.host(id).resume();
  }
  await restart(cluster);
}

async function live(seed: number, broken: Partial<Rules> = {}): Promise<Run> {
  const cluster = new Cluster(seed, broken);
  const { world } = cluster;
  const random = world.random('faults');
  const known: Known = { sent: [], acknowledged: [], seen: [] };
  const run: Run = { cluster, known, violations: [], reads: 0, over: false };
  for (const id of IDS) await world.complete(cluster.start(id));
  for (let writer = 0; writer < WRITERS; writer += 1) void write(run, writer);
  for (let reader = 0; reader < 2; reader += 1) void read(run, reader);
  await world.run({ until: () => cluster.serving.length > 0, maxMs: 20_000 });
  for (let fault = 0; fault < FAULTS; fault += 1) {
    await strike(run, (bound) => random.integer(bound));
    await world.run({ forMs: 100 + random.next() * 1_200 });
    if (random.integer(3) === 0) await heal(cluster);
  }
  await heal(cluster);
  const before = known.acknowledged.reduce((sum, each) => sum + each, 0);
  const isWhole = (): boolean => cluster.configuration.inSync.length === IDS.length;
  const goesOn = (): boolean => known.acknowledged.reduce((sum, each) => sum + each, 0) > before + 10;
  await world.run({ until: () => isWhole() && goesOn(), maxMs: 60_000 });
  run.over = true;
  for (const failure of cluster.failures) run.violations.push(`failed: ${String(failure)}`);
  return run;
}

/** What went wrong, and what the run came to. */
async function problems(
  seed: number,
  broken?: Partial<Rules>,
): Promise<{ readonly problems: string[]; readonly run: Run | undefined }> {
  try {
    const run = await live(seed, broken);
    return { problems: run.violations.map((violation) => `seed ${seed}: ${violation}`), run };
  } catch (error) {
    return { problems: [`seed ${seed}: ${error instanceof Error ? error.stack : String(error)}`], run: undefined };
  }
}

describe('a group of replicas on a simulated network, under faults', { timeout: 600_000 }, () => {
  it('loses nothing that was acknowledged, reads nothing stale, and is whole again when the faults end', async () => {
    const met = { acknowledged: 0, reads: 0, served: 0 };
    const violations: string[] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { problems: found, run } = await problems(seed);
      violations.push(...found);
      met.acknowledged += run?.known.acknowledged.reduce((sum, each) => sum + each, 0) ?? 0;
      met.reads += run?.reads ?? 0;
      met.served += run?.cluster.served ?? 0;
    }
    expect(violations).toEqual([]);
    expect(met.acknowledged).toBeGreaterThan(50 * SEEDS);
    expect(met.reads).toBeGreaterThan(20 * SEEDS);
    expect(met.served).toBeGreaterThan(2 * SEEDS);
  });

  it.each<[string, Partial<Rules>]>([
    [
      'acknowledged what only the primary has',
      { committed: (all, matchOf) => Math.max(...all.map((id) => matchOf(id))) },
    ],
    [
      'let a replica become primary that is not in sync',
      { claim: ({ inSync }, self) => [...new Set([...inSync, self])] },
    ],
  ])('is noticed when it has %s', async (_, broken) => {
    let found: readonly string[] = [];
    for (let seed = 1; seed <= MUTANT_SEEDS && found.length === 0; seed += 1)
      found = (await problems(seed, broken)).problems;
    expect(found).not.toEqual([]);
  });
});
