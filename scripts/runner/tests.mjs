// Runs vitest projects and counts their tests, with the reason of each that was skipped.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { run } from './steps.mjs';
import { root, tool } from './tool.mjs';

/** So many files at most are run again: where more have failed it is not chance. */
const MAX_FILES_AGAIN = 3;

/**
 * @typedef {{ name: string, file?: string, reason: string }} Failure
 * @typedef {{ passed: number, failed: Failure[], skipped: { name: string, reason: string }[], ok: boolean }} Result
 * @param {string} project
 * @param {string} name
 * @param {readonly string[]} [files] only those, one after another
 * @returns {Promise<Result>}
 */
export async function runTests(project, name, files = []) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-tests-'));
  try {
    const counts = join(directory, 'counts.json');
    const command = [...tool('vitest'), 'run', '--project', project, '--reporter', 'default'];
    command.push('--reporter', join(root, 'scripts/runner/counting-reporter.mjs'), '--passWithNoTests');
    if (files.length > 0) command.push('--no-file-parallelism', ...files);
    const ok = await run({ name, command, live: true, env: { HOLDFAST_TEST_COUNTS: counts } });
    return { ...readCounts(counts), ok };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Runs a project; where its tests start processes, a file that failed is run again by itself: what a busy machine made too slow passes
 * then, and is told as `unsteady`. See docs/decisions/0023.
 *
 * @param {{ project: string, name: string, again: boolean }} tests
 * @param {typeof runTests} [execute]
 * @returns {Promise<Result & { unsteady: Failure[] }>}
 */
export async function runProject({ project, name, again }, execute = runTests) {
  const first = await execute(project, name);
  const files = [...new Set(first.failed.map(({ file }) => file))];
  const mayBeChance = files.length > 0 && files.length <= MAX_FILES_AGAIN && !files.includes(undefined);
  if (first.ok || !again || !mayBeChance) return { ...first, unsteady: [] };
  const second = await execute(project, `${name}, again: ${files.join(', ')}`, files);
  if (!second.ok) return { ...first, failed: second.failed, unsteady: [] };
  return { ...first, ok: true, passed: first.passed + first.failed.length, failed: [], unsteady: first.failed };
}

function readCounts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: [], skipped: [] };
  }
}

/** Adds up what several projects counted, and says it in one line. */
export function summarise(results) {
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  const failed = results.flatMap((result) => result.failed);
  const unsteady = results.flatMap((result) => result.unsteady ?? []);
  const skipped = results.flatMap((result) => result.skipped);
  const reasons = [...new Set(skipped.map(({ reason }) => reason))];
  const why = reasons.length === 0 ? '' : ` (${reasons.join('; ')})`;
  const again = unsteady.length === 0 ? '' : ` (${unsteady.length} only when run again)`;
  const text = `${passed} passed${again}, ${failed.length} failed, ${skipped.length} skipped${why}`;
  return { failed, unsteady, skipped, text };
}
