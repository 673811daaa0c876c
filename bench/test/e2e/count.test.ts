import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

import { tracingProblem } from '../../src/count/system-calls.ts';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const baseline = fileURLToPath(new URL('../../baseline.json', import.meta.url));

function missing(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  const line = process.versions.node.split('.')[0] ?? '';
  const lines = Object.keys(JSON.parse(readFileSync(baseline, 'utf8')) as object);
  if (!lines.includes(line)) return `there is no baseline for Node.js ${line}`;
  return tracingProblem();
}

function count(): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--enable-source-maps', program, '--count'], {
    encoding: 'utf8',
    timeout: 110_000,
  });
  return { status, output: `${stdout}${stderr}` };
}

describe('an acquire+release cycle', () => {
  it(
    'costs no more system calls, durable writes, bytes and allocations than it did',
    { timeout: 300_000 },
    (context) => {
      const reason = missing();
      if (reason !== undefined) context.skip(reason);
      const first = count();
      if (first.status === 0) return;
      // Allocations of a machine with other work to do vary: what has really grown has grown the second time, too.
      const second = count();
      expect(second.status, `${first.output}\n${second.output}`).toBe(0);
    },
  );
});
