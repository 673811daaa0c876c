import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

describe('watches on servers of our own', () => {
  it(
    'are registered and resumed elsewhere, and tell each change once; locks are taken beside many deletes',
    { timeout: 240_000 },
    (context) => {
      context.skip(process.platform !== 'linux', 'needs Linux');
      const args = [
        '--only',
        'watches,large-transactions,resume',
        '--quick',
        '--watches',
        '3000',
        '--watching-clients',
        '30',
      ];
      const { status, stdout, stderr } = spawnSync(process.execPath, ['--enable-source-maps', program, ...args], {
        encoding: 'utf8',
        timeout: 230_000,
      });
      expect(status, `${stdout}${stderr}`).toBe(0);
      expect(stdout).toContain('| events of 1,000 nodes, changed twice each | 1,000 | 1,000 | | yes |');
      expect(stdout).toMatch(/\| leader RSS, 3,000 nodes of 100 B, MiB \| \d+ \|/);
      expect(stdout).toMatch(
        /## Acquires beside one transaction of 4,000 deletes\n[^]*\n\| 1 \|( \d+\.\d \|){4} -?\d+\.\d \|\n/,
      );
      expect(stdout).toContain('1 of 1 rounds with every change told once to everybody');
    },
  );
});
