/** A directory of its own for each test of a file, and no process that outlives its test. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach } from 'vitest';

import { stopAll } from './daemon.ts';

/** Says before each test of the file where it is. Afterwards what a failed test has left running is ended, and the directory removed. */
export function eachInDirectory(hear: (directory: string) => void): void {
  let directory = '';

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'fenced-kvd-'));
    hear(directory);
  });

  afterEach(async () => {
    await stopAll();
    await rm(directory, { recursive: true, force: true });
  });
}
