/**
 * Draws a scenario from a seed. Each seed gets its own mixture: some kinds of faults, at its own rate, on its own machines and links.
 * Faults are placed so that a majority can always recover: any number of machines may lose power at once, since what is durable comes
 * back, but at most a minority loses its log for good.
 */

import type { Random } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import { between, oneOf } from '../../plan/choices.ts';
import { drawLateAnswersScenario, drawLeaseScenario } from './leases.ts';
import { scenarioOf, type Draft } from './draft.ts';
import { withBursts } from './bursts.ts';
import { withCornerCases } from './corner-cases.ts';
import { withMembers } from './members.ts';
import { withOutage } from './outages.ts';
import { withSteadyReads } from './steady-reads.ts';
import { withStrangers } from './strangers.ts';
import { withWorkloads } from './workloads.ts';
import { drawMixture, withOwnStreams } from './mixture.ts';
import type { ClientPlan, SnapshotTuning, Tuning } from '../../plan/plan.ts';
import { joiningIds, type Scenario } from '../scenario.ts';

export interface DrawOptions {
  /** Of the fault phase. @default drawn, from 10,000 to 60,000 */
  readonly durationMs?: number;
  /** What every client does, and nothing else. @default drawn */
  readonly workloads?: readonly string[];
}

const JOINING_BYTES_PER_SECOND = 100_000;
/** A world costs as much to make as half a second in it. */
const MAX_DURATION_MS = 60_000;

export function drawScenario(seed: number, options: DrawOptions = {}): Scenario {
  const world = new SimWorld({ seed });
  const snapshots = drawSnapshots(world.random('scenario of snapshots'));
  const run = withMembers({ ...drawRun(seed, world, options), snapshots }, world.random('scenario of members'));
  const strange = withStrangers(run, world.random('scenario of strangers'));
  const corner = withCornerCases(strange, world.random('scenario of corner cases'));
  const scenario = withTimelyJoins(scenarioOf(corner));
  const { workloads } = options;
  if (workloads === undefined) return withWorkloads(scenario, (name) => world.random(name));
  return { ...scenario, clients: scenario.clients.map((client) => ({ ...client, workloads })) };
}

/** Servers that join, several at once, get their snapshots faster than the log of those that they join grows. */
function withTimelyJoins(scenario: Scenario): Scenario {
  const { snapshots } = scenario;
  if (snapshots === undefined || joiningIds(scenario).length === 0) return scenario;
  const bytesPerSecond = Math.max(snapshots.bytesPerSecond, JOINING_BYTES_PER_SECOND);
  return { ...scenario, snapshots: { ...snapshots, bytesPerSecond } };
}

function drawRun(seed: number, world: SimWorld, options: DrawOptions): Draft {
  const late = world.random('scenario of late answers');
  if (late.integer(12) === 0) {
    return drawLateAnswersScenario(seed, late, options.durationMs ?? between(late, 20_000, MAX_DURATION_MS));
  }
  const leases = world.random('scenario of leases');
  if (leases.integer(5) === 0) {
    return drawLeaseScenario(seed, leases, options.durationMs ?? between(leases, 10_000, MAX_DURATION_MS));
  }
  const random = world.random('scenario');
  const servers = oneOf(random, [3, 3, 3, 3, 3, 5] as const);
  // Some seeds are one long quarrel over leadership: short timeouts, and a fault as soon as somebody leads.
  const quarrel = random.integer(8) === 0;
  const clients = drawClients(random);
  const durationMs = options.durationMs ?? between(random, 10_000, MAX_DURATION_MS);
  const scenario = {
    version: 1,
    seed,
    servers,
    clients,
    locks: between(random, 1, 5),
    tuning: drawTuning(random, quarrel),
    network: oneOf(random, [
      { minMs: 0.1, maxMs: 1 },
      { minMs: 0.2, maxMs: 5 },
      { minMs: 1, maxMs: 30 },
      { minMs: 0.5, meanMs: 8, maxMs: 200 },
    ]),
    disk: oneOf(random, [
      { minMs: 0.05, maxMs: 1 },
      { minMs: 0.1, maxMs: 5 },
      { minMs: 1, maxMs: 40 },
    ]),
    durationMs,
  } as const;
  const run = withBursts(
    { ...scenario, faults: drawMixture(random, scenario, quarrel) },
    world.random('scenario of bursts'),
  );
  const steady = withSteadyReads(run, world.random('scenario of steady reads'));
  const outage = withOutage(steady, world.random('scenario of outages'));
  return withOwnStreams(outage, (name) => world.random(name));
}

function drawClients(random: Random): ClientPlan[] {
  return Array.from({ length: between(random, 2, 4) }, (_, n) => ({
    name: `c${n + 1}`,
    sessionTimeoutMs: between(random, 1_000, 6_000),
    workers: between(random, 1, 4),
  }));
}

function drawTuning(random: Random, quarrel: boolean): Tuning {
  const electionTimeoutMs = quarrel ? between(random, 200, 400) : between(random, 800, 2_500);
  return {
    electionTimeoutMs,
    heartbeatMs: Math.max(20, Math.floor(electionTimeoutMs / between(random, 3, 5))),
    segmentBytes: oneOf(random, [16, 32, 64]) * 1024,
  };
}

/** From a few dozen entries to a few hundred; most servers that were away for a while need a snapshot then, some do not. */
function drawSnapshots(random: Random): SnapshotTuning {
  const logBytes = oneOf(random, [4_000, 8_000, 16_000, 64_000]);
  return {
    logBytes,
    trailingBytes: oneOf(random, [0, 1_000, logBytes]),
    sliceBytes: oneOf(random, [100, 1_000, 20_000]),
    chunkBytes: oneOf(random, [256, 4_096, 65_536]),
    bytesPerSecond: oneOf(random, [10_000, 100_000, 10_000_000]),
  };
}
