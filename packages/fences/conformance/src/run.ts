/** The suite without a test runner: for scripts, and for tests that want a broken resource to fail. */

import type { ConformanceCase } from './case.ts';
import { conformanceCases } from './cases.ts';
import { missingCapabilities, type Capability, type FencedResource } from './resource.ts';

export interface CaseResult {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Of one that failed. */
  readonly error?: unknown;
  /** Of one that was skipped: what the resource lacks. */
  readonly lacks?: readonly Capability[];
}

/**
 * Runs cases one after another, and never rejects for one that failed.
 *
 * @param cases @default all
 *
 * @example
 * const results = await runConformance(open);
 * const failed = results.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
 */
export async function runConformance(
  open: () => Promise<FencedResource>,
  cases: readonly ConformanceCase[] = conformanceCases,
): Promise<readonly CaseResult[]> {
  const probe = await open();
  await probe.close?.();
  const results: CaseResult[] = [];
  for (const each of cases) results.push(await resultOf(each, probe, open));
  return results;
}

async function resultOf(
  { name, needs, run }: ConformanceCase,
  probe: FencedResource,
  open: () => Promise<FencedResource>,
): Promise<CaseResult> {
  const lacks = missingCapabilities(probe, needs);
  if (lacks.length > 0) return { name, outcome: 'skipped', lacks };
  try {
    await run(open);
    return { name, outcome: 'passed' };
  } catch (error) {
    return { name, outcome: 'failed', error };
  }
}
