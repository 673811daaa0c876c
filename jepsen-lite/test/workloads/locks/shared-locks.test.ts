import { describe, expect, it } from 'vitest';

import { checkExpectations } from '../../../src/checkers/check.ts';
import { drawScenario } from '../../../src/scenario/draw/draw.ts';
import { runScenario, runSeed } from '../../../src/targets/sim/run.ts';
import { demandsOf } from '../../../src/workloads/index.ts';

describe.each(['read-write', 'semaphore', 'several-locks', 'reentrant', 'deadlocks', 'delayed-locks'])(
  'clients that do %s',
  (workload) => {
    it('keep what it puts to the test, and come across it', { timeout: 60_000 }, async () => {
      const drawn = drawScenario(6, { durationMs: 15_000 });
      const clients = ['c1', 'c2', 'c3'].map((name) => {
        return { name, sessionTimeoutMs: 3_000, workers: 3, maxPauseMs: 200, workloads: [workload] };
      });
      const { failure, verdicts } = await runScenario({ ...drawn, clients, locks: 2, faults: [] });
      expect(failure).toBeUndefined();
      expect(checkExpectations(verdicts, demandsOf(clients, { longPausesOfHolders: 0 })).broken).toEqual([]);
    });

    it('keep it under the faults of a few seeds', { timeout: 120_000 }, async () => {
      for (let seed = 1; seed <= 3; seed += 1) {
        const { failure, commands } = await runSeed(seed, { workloads: [workload] });
        expect(failure, `seed ${seed}`).toBeUndefined();
        const acquires = ['acquire', 'acquireSeveral', 'acquireWith'].map((name) => commands.get(name) ?? 0);
        expect(Math.max(...acquires)).toBeGreaterThan(0);
      }
    });
  },
);
