import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import type { ResultRow } from '../src/report/result-row.ts';
import { withVerdicts } from '../src/report/verdicts.ts';
import { ownRowOf, rowOf } from './support/rows.ts';

const script = fileURLToPath(new URL('../verdict.mjs', import.meta.url));

function judge(rows: readonly ResultRow[]): { readonly status: number | null; readonly output: string } {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-verdict-'));
  try {
    const file = join(directory, 'results.json');
    writeFileSync(file, JSON.stringify(rows));
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, file], { encoding: 'utf8' });
    return { status, output: stdout + stderr };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const rows = withVerdicts([
  rowOf('holdfast', [5, 1, 3]),
  rowOf('zookeeper', [2, 1]),
  rowOf('zookeeper', [2], { route: 'native' }),
  rowOf('etcd', [1]),
]);

describe('the script that recomputes verdicts', () => {
  it('agrees with what the benchmark wrote', () => {
    expect(judge(rows)).toMatchObject({ status: 0, output: expect.stringContaining('ratio 1.500, must 2: NOT met') });
  });

  it('judges rows of our own system by each other, and by bounds in their unit', () => {
    const own = withVerdicts([
      ownRowOf('exclusive', [10]),
      ownRowOf('read', [12], { must: 1.15, goal: 1.05, baseline: 'exclusive' }),
      ownRowOf('election', [7, 5, 9], { must: 20, goal: 10 }, 'ms'),
    ]);
    const { status, output } = judge([...own, ...rows]);
    expect(status, output).toBe(0);
    expect(output).toContain('read: ratio 1.200, must 1.15: NOT met');
    expect(output).toContain('election: 7.000 ms, must 20: met');
    expect(judge(own.map((row) => ({ ...row, met: row.met === null ? null : !row.met }))).status).toBe(1);
  });

  it('takes the better of two clients of a peer', () => {
    const clients = [
      rowOf('holdfast', [5], { route: 'client' }),
      rowOf('etcd', [2.4], { route: 'client' }),
      rowOf('etcd', [2.5], { route: 'native' }),
    ];
    expect(judge(withVerdicts(clients))).toMatchObject({ status: 0, output: expect.stringContaining('ratio 2.000') });
  });

  it.each([
    ['median', { median: 4 }],
    ['ratio', { ratio: 2 }],
    ['met', { met: true }],
  ])('finds a wrong %s', (what, wrong) => {
    const [ours, ...others] = rows;
    const { status, output } = judge([{ ...(ours as ResultRow), ...wrong }, ...others]);
    expect(status).toBe(1);
    expect(output).toContain(`${what} is`);
  });
});
