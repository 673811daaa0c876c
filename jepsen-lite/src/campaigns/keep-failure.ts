/** Keeps what failed: the smallest scenario that still does, its history, and the page on which it can be looked at. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeHistory } from '../history/json-lines.ts';
import { HISTORY_SUFFIX } from './report-command.ts';
import { writeReport } from '../report/write-report.ts';
import { encodeScenario } from '../scenario/scenario-file.ts';
import { runScenario } from '../targets/sim/run.ts';
import type { SeedReport } from './seed-report.ts';
import { logExcerpt } from './live/excerpt.ts';
import { shrinkScenario } from './shrink-scenario.ts';

/** What is told of it: how far it was shrunk, how to run it again, and where the page is. Undefined for a seed that passed. */
export async function keepFailure(
  { seed, failure, scenario }: SeedReport,
  { shrinkTries, out }: { readonly shrinkTries: number; readonly out: string },
): Promise<string | undefined> {
  if (failure === undefined || scenario === undefined) return undefined;
  const { smallest, tries } = await shrinkScenario(scenario, failure.name, { maxTries: shrinkTries });
  const result = await runScenario(smallest);
  const { traceHash, history, verdicts, committed, failure: found = failure } = result;
  mkdirSync(out, { recursive: true });
  const name = `seed-${seed}`;
  const file = join(out, `${name}.json`);
  const command = `npx -y pnpm@12 jepsen replay ${file}`;
  writeFileSync(file, encodeScenario({ scenario: smallest, failure: found, traceHash }));
  writeFileSync(join(out, `${name}${HISTORY_SUFFIX}`), encodeHistory(history));
  const log = logExcerpt({ history, verdicts, failure: found, committed });
  const run = { ...result, title: `seed ${seed}`, target: 'simulated', failure: found, log, replay: command };
  const page = await writeReport(out, run, `${name}.html`);
  const shrunk = `${scenario.faults.length} faults shrunk to ${smallest.faults.length} in ${tries} runs`;
  return `seed ${seed}: ${shrunk}. See it again:\n  ${command}\n  ${page}`;
}
