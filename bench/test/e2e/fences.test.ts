import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { FENCES, pairRows, PAIR_PLANS, tripRows } from '../../src/fences/plans.ts';
import type { ResultRow } from '../../src/report/result-row.ts';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** One of each make: a server with SQL, one with scripts, a library. All of them take two minutes. */
const MEASURED = ['postgresql', 'redis', 'sqlite'] as const;

describe('bench fences', () => {
  it('measures each fence beside the same write without it, or says what is not installed', (context) => {
    context.skip(process.platform !== 'linux', 'needs Linux');
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-test-'));
    try {
      const file = join(directory, 'results.json');
      const args = [
        'fences',
        '--fences',
        MEASURED.join(','),
        '--quick',
        '--windows',
        '1',
        '--json',
        file,
        '--logs',
        directory,
      ];
      const { status, stdout, stderr } = spawnSync(process.execPath, ['--enable-source-maps', program, ...args], {
        encoding: 'utf8',
        timeout: 280_000,
      });
      expect(status, `${stdout}${stderr}`).toBe(0);
      const rows = JSON.parse(readFileSync(file, 'utf8')) as ResultRow[];
      const found = new Map(rows.map((row) => [row.work, row]));
      for (const plan of PAIR_PLANS.filter((each) => MEASURED.some((name) => name === each.name))) {
        for (const clients of plan.clients) {
          const { without, through, target } = pairRows(plan, clients);
          const row = found.get(through);
          if (row?.note.startsWith('left out') === true) {
            expect(row.note).toContain('apt-get install');
            continue;
          }
          expect(found.get(without)?.median, without).toBeGreaterThan(0);
          expect(row?.median, through).toBeGreaterThan(0);
          expect(row?.met !== null, through).toBe(target !== undefined);
          if (clients === 1 && plan.trips !== undefined) {
            const { met, median } = found.get(tripRows(plan).through) ?? {};
            expect({ work: through, met, median }).toEqual({ work: through, met: true, median: expect.any(Number) });
          }
        }
      }
      // What needs no server of others is always there.
      expect(stdout).toContain('| SQLite, UPDATE in a transaction | 64 |');
      expect(FENCES.length).toBe(PAIR_PLANS.length + 1);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }, 300_000);
});
