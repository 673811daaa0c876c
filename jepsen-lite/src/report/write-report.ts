/** Writes the pages: one file for a run, one for an index of runs. Each is complete in itself. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { indexPage, type Index } from './page/index-page.ts';
import { runPage } from './page/run-page.ts';
import { scriptOf } from './page/script.ts';
import type { ReportRun } from './run.ts';

export type { Index, IndexedRun } from './page/index-page.ts';

/**
 * Writes the page of a run, and returns its path. The directory is made if it is missing; a file of that name is overwritten.
 *
 * @example
 * await writeReport('runs/17', { title: 'seed 17', target: 'simulated', history, verdicts, scenario });
 */
export async function writeReport(directory: string, run: ReportRun, name = 'report.html'): Promise<string> {
  return write(directory, name, runPage(run, await scriptOf('run')));
}

/**
 * Writes the page over many runs, and returns its path.
 *
 * @example
 * await writeIndex('runs', { title: 'all workloads', runs: [{ workload: 'mutex', faults: 'pause', valid: true, href: '1/report.html', … }] });
 */
export async function writeIndex(directory: string, index: Index, name = 'index.html'): Promise<string> {
  return write(directory, name, indexPage(index, await scriptOf('index')));
}

function write(directory: string, name: string, page: string): string {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, name);
  writeFileSync(file, page);
  return file;
}
