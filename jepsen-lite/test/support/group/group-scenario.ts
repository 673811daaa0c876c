/** Scenarios of a group of replicas and its ensemble in one simulated world, each drawn from a seed. */

import { randomStream } from '@holdfast/runtime/sim';

import { drawLiveScenario } from '../../../src/scenario/draw/live.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';

/** What strikes replicas, the ensemble, and both. */
const NEMESES = [
  'kill-primary',
  'kill-replica',
  'kill-replicas',
  'kill-leader-primary',
  'pause-primary',
  'pause-replica',
  'restart-replicas',
  'power-loss-replicas',
  'isolate-primary',
  'isolate-replica',
  'replicas-apart',
  'primary-ensemble',
  'replicas-ensemble',
  'isolate-both',
  'halves-of-both',
  'primary-one-way',
  'kill-leader',
  'kill-majority',
  'pause-leader',
  'isolate-leader',
  'one-way',
  'power-loss-all',
  'packet-loss',
  'loss',
  'clog',
  'slow-network',
] as const;
const AT_A_TIME = 4;
const DURATION_MS = 9_000;
const CLIENTS = 2;

/** Some kinds of faults, one after another. */
export function groupScenario(seed: number): Scenario {
  const random = randomStream(seed, 'group scenario');
  const left = [...NEMESES];
  const nemeses = Array.from({ length: AT_A_TIME }, () => left.splice(random.integer(left.length), 1)).flat();
  const workloads = ['replicated-kv'];
  const scenario = drawLiveScenario({
    seed,
    servers: 3,
    durationMs: DURATION_MS,
    clients: CLIENTS,
    workloads,
    nemeses,
  });
  // A real network's links are what they are; here a seed in two has slow ones.
  return random.integer(2) === 0 ? scenario : { ...scenario, network: { minMs: 0.5, meanMs: 3, maxMs: 60 } };
}
