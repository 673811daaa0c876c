// Runs vitest projects and counts their tests, with the reason of each that was skipped.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { run } from './steps.mjs';
import { root, tool } from './tool.mjs';

/**
 * @param {string} project
 * @returns {Promise<{ passed: number, failed: { name: string, reason: string }[], skipped: { name: string, reason: string }[], ok: boolean }>}
 */
export async function runTests(project, name) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-tests-'));
  try {
    const file = join(directory, 'counts.json');
    const command = [...tool('vitest'), 'run', '--project', project, '--reporter', 'default'];
    command.push('--reporter', join(root, 'scripts/runner/counting-reporter.mjs'), '--passWithNoTests');
    const ok = await run({ name, command, live: true, env: { HOLDFAST_TEST_COUNTS: file } });
    return { ...readCounts(file), ok };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
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
  const skipped = results.flatMap((result) => result.skipped);
  const reasons = [...new Set(skipped.map(({ reason }) => reason))];
  const why = reasons.length === 0 ? '' : ` (${reasons.join('; ')})`;
  return { failed, skipped, text: `${passed} passed, ${failed.length} failed, ${skipped.length} skipped${why}` };
}
