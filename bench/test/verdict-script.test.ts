import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import type { ResultRow } from '../src/report/result-row.ts';
import { withVerdicts } from '../src/report/verdicts.ts';
import { rowOf } from './support/rows.ts';

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
