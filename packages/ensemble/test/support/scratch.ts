// A temporary directory of one test, whose processes can be found by its name and which goes after the test.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export function scratchDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-e2e-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  return directory;
}

/** Processes whose command line names the directory, this one not included. Zombies have no command line. */
export function processesOn(directory: string): number[] {
  const { stdout } = spawnSync('ps', ['-ww', '-eo', 'pid=,args='], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .filter((line) => line.includes(directory))
    .map((line) => Number(line.trim().split(/\s+/)[0]))
    .filter((pid) => pid !== process.pid);
}
