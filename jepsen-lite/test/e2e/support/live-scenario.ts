import type { Fault } from '../../../src/nemeses/index.ts';
import { drawLiveScenario } from '../../../src/scenario/draw/live.ts';
import type { Scenario } from '../../../src/scenario/scenario.ts';

/** Three servers and three clients, with these faults and no others. */
export const scenarioOf = (durationMs: number, faults: readonly Fault[], workloads?: readonly string[]): Scenario => ({
  ...drawLiveScenario({
    seed: 1,
    servers: 3,
    durationMs,
    nemeses: [],
    clients: 3,
    ...(workloads === undefined ? {} : { workloads }),
  }),
  faults,
});

export const killOfLeader: Fault = { kind: 'kill', atMs: 1_500, forMs: 1_000, hosts: ['leader'] };
