/** `jepsen sim` and `jepsen replay`. */

import { availableParallelism } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { runCampaign } from './campaign.ts';
import { keepFailure } from './keep-failure.ts';
import { CampaignSummary } from './summary.ts';
import { OlderBuildError } from '../targets/live/versions/older-build.ts';
import { runScenario } from '../targets/sim/run.ts';
import { ScenarioFormatError } from '../plan/fields.ts';
import { execute, TARGETS, type TargetName } from './live/execute.ts';
import { EXIT_CODES } from './live/result.ts';
import { LIVE_TRACE, readScenario } from './live/run-directory.ts';
import { formatResult } from './live/format-result.ts';
import { workloadNames } from './names.ts';

interface SeedRange {
  readonly from: number;
  readonly to: number;
}

interface SimFlags {
  readonly seeds: SeedRange;
  readonly workload?: readonly string[];
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
    .option('--workload <names>', 'what all clients do, separated by commas (default: as drawn)', workloadNames)
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
    .description('runs a saved scenario again: the same faults at the same times; in a simulated world, the same path')
    .argument('<file or directory>', 'what a failing run has kept')
    .addOption(new Option('--target <name>', 'where to run it (default: where it ran)').choices(TARGETS))
    .option('--out <directory>', 'where a live run is kept', '.holdfast/jepsen/replay')
    .action(replay);
}

async function sim({ seeds, workload: workloads, jobs, twice, shrinkTries, out }: SimFlags): Promise<void> {
  const summary = new CampaignSummary(workloads);
  const startedAt = performance.now();
  let printedAt = startedAt;
  let done = 0;
  await runCampaign({
    ...seeds,
    ...(workloads === undefined ? {} : { workloads }),
    jobs,
    twice,
    onReport(report) {
      summary.add(report);
      done += 1;
      if (report.failure !== undefined) print(`seed ${report.seed}: ${report.failure.name}: ${report.failure.message}`);
      if (performance.now() - printedAt < PROGRESS_EVERY_MS) return;
      printedAt = performance.now();
      print(`${done} of ${seeds.to - seeds.from + 1} seeds, ${summary.simulatedHours.toFixed(2)} simulated hours`);
    },
  });
  const wallMs = performance.now() - startedAt;
  for (const failed of summary.failures.slice(0, MAX_SHRUNK)) {
    print(`seed ${failed.seed}: looking for a smaller scenario that breaks "${failed.failure?.name}" …`);
    const kept = await keepFailure(failed, { shrinkTries, out });
    if (kept !== undefined) print(kept);
  }
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

interface ReplayFlags {
  readonly target?: TargetName;
  readonly out: string;
}

async function replay(path: string, { target, out }: ReplayFlags): Promise<void> {
  let saved;
  try {
    saved = readScenario(path);
  } catch (error) {
    if (!(error instanceof ScenarioFormatError) && !(error instanceof Error && 'code' in error)) throw error;
    print(`${path}: ${error.message}`);
    process.exitCode = 2;
    return;
  }
  const ranLive = saved.traceHash === LIVE_TRACE;
  if ((target ?? (ranLive ? 'live' : 'sim')) === 'live') {
    let result;
    try {
      result = await execute(saved.scenario, { target: 'live', directory: out });
    } catch (error) {
      if (!(error instanceof OlderBuildError)) throw error;
      print(`${path}: ${error.message}`);
      process.exitCode = 2;
      return;
    }
    process.stdout.write(`${formatResult(result, out)}\n`);
    process.exitCode = EXIT_CODES[result.verdict];
    return;
  }
  const { failure, traceHash, simulatedMs } = await runScenario(saved.scenario);
  const same = ranLive
    ? 'saved by a live run'
    : traceHash === saved.traceHash
      ? 'the path that was saved'
      : `another path than was saved (${traceHash})`;
  process.stdout.write(`${(simulatedMs / 1_000).toFixed(1)} simulated seconds, ${same}\n`);
  if (failure === undefined) {
    process.stdout.write(`passed${saved.failure === undefined ? '' : `; it was saved with "${saved.failure.name}"`}\n`);
    return;
  }
  process.stdout.write(`FAILED ${failure.name}: ${failure.message}\n`);
  process.exitCode = 1;
}

function print(line: string): void {
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
