import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import type { ResultRow } from '../../src/report/result-row.ts';
import { ELECTIONS_ROW, LOCK_KIND_ROWS, SDK_SESSIONS, sdkRows, waitersRows } from '../../src/works/own-table.ts';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

describe('locks of every kind, the SDK, elections and many waiters', () => {
  it('are measured on servers of our own, with a verdict each', { timeout: 240_000 }, (context) => {
    context.skip(process.platform !== 'linux', 'needs Linux');
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-bench-test-'));
    try {
      const file = join(directory, 'results.json');
      // It is looked at what is measured, and not at the figures.
      const works = ['--only', 'lock-kinds,sdk,elections,waiters', '--quick', '--windows', '1'];
      const args = [...works, '--json', file, '--logs', directory];
      const { status, stdout, stderr } = spawnSync(process.execPath, ['--enable-source-maps', program, ...args], {
        encoding: 'utf8',
        timeout: 230_000,
      });
      expect(status, `${stdout}${stderr}`).toBe(0);
      const results = JSON.parse(readFileSync(file, 'utf8')) as ResultRow[];
      const planned = [
        ...LOCK_KIND_ROWS,
        ...SDK_SESSIONS.flatMap((n) => sdkRows(n)).flatMap(({ work, clientWork }) => [{ work }, { work: clientWork }]),
        ...waitersRows(1_000),
        ELECTIONS_ROW,
      ];
      const own = results.filter(({ comparison }) => comparison === 'own');
      expect(own.map(({ work }) => work).toSorted()).toEqual(planned.map(({ work }) => work).toSorted());
      for (const { work, median, target, met } of own) {
        expect(median, work).toBeGreaterThan(0);
        expect(met !== null, work).toBe(target !== null);
      }
      expect(stdout).toContain(`| ${ELECTIONS_ROW.work}, ms |`);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
