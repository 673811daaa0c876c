import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { execute } from '../../src/campaigns/live/execute.ts';
import { MUTANTS } from '../../src/mutants/catalogue/index.ts';
import { Planted } from '../../src/patches/planted.ts';
import { editsByUrl } from '../../src/patches/product.ts';
import { drawLiveScenario } from '../../src/scenario/draw/live.ts';

const LIMIT_MS = 180_000;
/** Each lets the session of a holder expire while it is within its critical section. */
const PAUSES_AT_MS = [2_000, 6_500, 11_000, 15_500];

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-planted-'));
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

describe('a planted bug', () => {
  it(
    'in the fence of the store is caught when holders are paused',
    async () => {
      const mutant = MUTANTS.find(({ name }) => name === 'store-without-a-fence');
      if (mutant === undefined) throw new Error('the catalogue has no such bug');
      const options = { seed: 1, servers: 3, durationMs: 20_000, nemeses: [], clients: 3 } as const;
      const { clients, ...plan } = drawLiveScenario({ ...options, workloads: ['critical-sections'] });
      const scenario = {
        ...plan,
        locks: 1,
        clients: clients.map((client) => ({ ...client, sessionTimeoutMs: 1_500, workers: 2, longSteps: 12 })),
        faults: PAUSES_AT_MS.map((atMs) => ({ kind: 'pause', atMs, forMs: 3_500, host: 'holder:lock-0' }) as const),
      };
      const planted = new Planted(editsByUrl(mutant), directory);
      const { environment } = planted;
      // Without links: what is caught here is for every machine.
      const run = {
        target: 'live',
        directory: join(directory, 'run'),
        environment,
        loopback: true,
        recoveryMs: 40_000,
      } as const;
      const result = await execute(scenario, run);
      expect(planted.missing()).toEqual([]);
      expect(result).toMatchObject({ verdict: 'invalid', failure: { name: 'history: fence' } });
      expect(result.why).toMatch(/accepted token \d+ \(put\) after it had \d+/);
      // The ensemble has nothing to do with it.
      expect(result.log).toMatchObject({ acknowledgedLost: 0 });
    },
    LIMIT_MS,
  );
});
