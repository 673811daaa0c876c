/** `jepsen sim` and `jepsen replay`. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { runCampaign } from './campaign.ts';
import type { SeedReport } from './seed-report.ts';
import { CampaignSummary } from './summary.ts';
import { runScenario } from '../targets/sim/run.ts';
import { decodeScenario, encodeScenario } from '../scenario/scenario-file.ts';
import { ScenarioFormatError } from '../plan/fields.ts';
import { shrinkScenario } from './shrink-scenario.ts';

interface SeedRange {
  readonly from: number;
  readonly to: number;
}

interface SimFlags {
  readonly seeds: SeedRange;
  readonly jobs: number;
  readonly twice: number;
  readonly shrinkTries: number;
  readonly out: string;
}

/** Shrinking takes time: of many failures the first few tell enough. */
const MAX_SHRUNK = 3;
const PROGRESS_EVERY_MS = 10_000;

export function simCommand(): Command {
  return new Command('sim')
    .description('runs the whole system in simulated worlds, one for each seed, under the faults that the seed draws')
    .option('--seeds <A..B>', 'these seeds, both included', seedRange, { from: 1, to: 100 })
    .option('--jobs <count>', 'threads', wholeNumber(1), availableParallelism())
    .option('--twice <count>', 'runs the first so many seeds twice, which must take the same path', wholeNumber(0), 0)
    .option(
      '--shrink-tries <count>',
      'runs that the search for a smaller failing scenario may take',
      wholeNumber(0),
      300,
    )
    .option('--out <directory>', 'where failing scenarios are kept', '.holdfast/jepsen')
    .action(sim);
}

export function replayCommand(): Command {
  return new Command('replay')
    .description('runs a saved scenario again: the same faults at the same times, the same path')
    .argument('<file>', 'what a failing run has kept')
    .action(replay);
}

async function sim({ seeds, jobs, twice, shrinkTries, out }: SimFlags): Promise<void> {
  const summary = new CampaignSummary();
  const startedAt = performance.now();
  let toldAt = startedAt;
  let done = 0;
  await runCampaign({
    ...seeds,
    jobs,
    twice,
    onReport(report) {
      summary.add(report);
      done += 1;
      if (report.failure !== undefined) tell(`seed ${report.seed}: ${report.failure.name}: ${report.failure.message}`);
      if (performance.now() - toldAt < PROGRESS_EVERY_MS) return;
      toldAt = performance.now();
      tell(`${done} of ${seeds.to - seeds.from + 1} seeds, ${summary.simulatedHours.toFixed(2)} simulated hours`);
    },
  });
  const wallMs = performance.now() - startedAt;
  for (const failure of summary.failures.slice(0, MAX_SHRUNK)) await keep(failure, shrinkTries, out);
  process.stdout.write(`${summary.text({ wallMs, threads: jobs })}\n`);
  if (summary.missed.length > 0) {
    process.stdout.write(`FAILED: in all these seeds there was not one of: ${summary.missed.join(', ')}\n`);
    process.exitCode = 1;
  }
  if (summary.failures.length > 0) {
    const failed = summary.failures.map(({ seed }) => seed).join(', ');
    process.stdout.write(`FAILED seeds: ${failed}\n`);
    process.exitCode = 1;
  }
}

/** Shrinks the scenario, writes it down, and says how to see the failure again. */
async function keep({ seed, failure, scenario }: SeedReport, maxTries: number, out: string): Promise<void> {
  if (failure === undefined || scenario === undefined) return;
  tell(`seed ${seed}: looking for a smaller scenario that breaks "${failure.name}" …`);
  const { smallest, tries } = await shrinkScenario(scenario, failure.name, { maxTries });
  const { traceHash, failure: found } = await runScenario(smallest);
  mkdirSync(out, { recursive: true });
  const file = join(out, `seed-${seed}.json`);
  writeFileSync(file, encodeScenario({ scenario: smallest, failure: found ?? failure, traceHash }));
  tell(
    `seed ${seed}: ${scenario.faults.length} faults shrunk to ${smallest.faults.length} in ${tries} runs. See it again:\n` +
      `  npx -y pnpm@12 jepsen replay ${file}`,
  );
}

async function replay(file: string): Promise<void> {
  let saved;
  try {
    saved = decodeScenario(readFileSync(file, 'utf8'));
  } catch (error) {
    if (!(error instanceof ScenarioFormatError) && !(error instanceof Error && 'code' in error)) throw error;
    tell(`${file}: ${error.message}`);
    process.exitCode = 2;
    return;
  }
  const { failure, traceHash, simulatedMs } = await runScenario(saved.scenario);
  const same = traceHash === saved.traceHash ? 'the path that was saved' : `another path than was saved (${traceHash})`;
  process.stdout.write(`${(simulatedMs / 1_000).toFixed(1)} simulated seconds, ${same}\n`);
  if (failure === undefined) {
    process.stdout.write(`passed${saved.failure === undefined ? '' : `; it was saved with "${saved.failure.name}"`}\n`);
    return;
  }
  process.stdout.write(`FAILED ${failure.name}: ${failure.message}\n`);
  process.exitCode = 1;
}

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

function seedRange(text: string): SeedRange {
  const match = /^(\d+)(?:\.\.(\d+))?$/.exec(text);
  const from = Number(match?.[1]);
  const to = Number(match?.[2] ?? match?.[1]);
  if (match === null || !Number.isSafeInteger(to) || from > to) {
    throw new InvalidArgumentError('give one seed, or a first and a last one, as 1..500');
  }
  return { from, to };
}

function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least) throw new InvalidArgumentError(`give a whole number from ${least}`);
    return value;
  };
}
