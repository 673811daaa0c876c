/** `jepsen mutants`: plants every known bug, and fails when one goes unnoticed. */

import { Command, InvalidArgumentError } from 'commander';

import { MUTANTS } from './catalogue/index.ts';
import { renderLiveReport, renderLiveResult } from './live/report.ts';
import { liveMutantsProblem, runLiveMutants } from './live/run-live-mutants.ts';
import { renderWholeReport, renderWholeResult, wholeAsData } from './live/whole/report.ts';
import { runWhole } from './live/whole/run-whole.ts';
import { describeMutant, renderRandomReport, runRandomMutants } from './random/run-random.ts';
import { renderReport, reportAsData } from './report.ts';
import { runMutants, type MutantResult } from './run-mutants.ts';

interface Flags {
  readonly only?: readonly string[];
  readonly sample?: true;
  readonly live?: true;
  readonly whole?: true;
  readonly json?: true;
  readonly seeds: number;
  readonly ranges: number;
  readonly jobs: number;
  readonly random?: number;
  readonly from?: number;
  readonly to?: number;
  readonly seed: number;
  readonly areas?: readonly string[];
}

/** Of the random mutants that are not known to be equal in effect so many must be noticed. */
const MUST_NOTICE = 0.95;

const RANGE_DISTANCE = 100_000;

export function mutantsCommand(): Command {
  return new Command('mutants')
    .description(
      'plants known bugs in the built product, one at a time, and prints what notices each; fails when one survives',
    )
    .option('--only <name...>', 'these mutants')
    .option('--sample', 'the mutants that are caught within seconds, over one range of seeds')
    .option(
      '--live',
      'the bugs that only real processes, disks and kernels show; on Linux as root, --ranges times each',
    )
    .option('--whole', 'with --live: by whole runs of servers, clients and store, instead of one detector each')
    .option('--seeds <count>', 'attempts in each range of seeds', count, 500)
    .option('--ranges <count>', 'ranges of seeds', count, 3)
    .option('--random <count>', 'so many changes drawn at random instead of the known bugs; in a checkout only', count)
    .option('--seed <seed>', 'what --random draws by', count, 1)
    .option(
      '--from <number>',
      'the number of the first drawn change that is judged; the rest of the draw stays the same',
      count,
    )
    .option('--to <number>', 'the number of the last drawn change that is judged', count)
    .option('--areas <name...>', 'where --random changes something: core, driver, log-store, state, sessions')
    .option('--jobs <count>', 'mutants at the same time', count, 1)
    .option('--json', 'the report as JSON')
    .action(mutants);
}

async function mutants(flags: Flags, command: Command): Promise<void> {
  if (flags.random !== undefined) {
    await randomMutants(flags, flags.random);
    return;
  }
  if (flags.live === true) {
    await liveMutants(flags);
    return;
  }
  const unknown = flags.only?.find((name) => !MUTANTS.some((mutant) => mutant.name === name));
  if (unknown !== undefined) {
    const names = MUTANTS.map(({ name }) => name).join(', ');
    command.error(`error: there is no mutant "${unknown}" that this hunts; name some of ${names}`);
  }
  const sampled = MUTANTS.filter((mutant) => mutant.sample === true).map(({ name }) => name);
  const names = flags.only ?? (flags.sample === true ? sampled : undefined);
  const ranges = flags.sample === true ? 1 : flags.ranges;
  const report = await runMutants({
    ...(names === undefined ? {} : { names }),
    budgetSeeds: flags.seeds,
    rangeStarts: Array.from({ length: ranges }, (_, range) => 1 + range * RANGE_DISTANCE),
    jobs: flags.jobs,
    ...(flags.json === true ? {} : { onResult: progress }),
  });
  const text = flags.json === true ? JSON.stringify(reportAsData(report), undefined, 2) : `\n${renderReport(report)}`;
  process.stdout.write(`${text}\n`);
  if (!report.ok) process.exitCode = 1;
}

async function liveMutants(flags: Flags): Promise<void> {
  const problem = await liveMutantsProblem();
  if (problem !== undefined) throw new Error(`live mutants cannot be hunted here: ${problem}`);
  await (flags.whole === true ? wholeRuns(flags) : liveDetectors(flags));
}

async function wholeRuns({ only, ranges, json }: Flags): Promise<void> {
  const results = await runWhole({
    ...(only === undefined ? {} : { names: only }),
    attempts: ranges,
    onResult: (result) => process.stderr.write(`${renderWholeResult(result)}\n`),
  });
  const text = json === true ? JSON.stringify(wholeAsData(results), undefined, 2) : `\n${renderWholeReport(results)}`;
  process.stdout.write(`${text}\n`);
  if (results.some(({ passed }) => !passed)) process.exitCode = 1;
}

async function liveDetectors({ only, ranges }: Flags): Promise<void> {
  const results = await runLiveMutants({
    ...(only === undefined ? {} : { names: only }),
    attempts: ranges,
    onResult: (result) => process.stderr.write(`${renderLiveResult(result)}\n`),
  });
  process.stdout.write(`\n${renderLiveReport(results)}\n`);
  if (results.some(({ passed }) => !passed)) process.exitCode = 1;
}

async function randomMutants({ seed, jobs, areas, from, to }: Flags, drawn: number): Promise<void> {
  const report = await runRandomMutants({
    count: drawn,
    seed,
    jobs,
    ...(areas === undefined ? {} : { areas }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    onResult: ({ mutant, noticed, wallMs }) => {
      const verdict = noticed === undefined ? 'SURVIVED' : `${noticed.by}: ${noticed.as.split('\n')[0]}`;
      process.stderr.write(`${describeMutant(mutant)}: ${verdict} (${Math.round(wallMs / 1000)} s)\n`);
    },
  });
  process.stdout.write(`\n${renderRandomReport(report)}\n`);
  if (report.share < MUST_NOTICE) process.exitCode = 1;
}

function progress({ mutant, verdict }: MutantResult): void {
  process.stderr.write(`${mutant.name}: ${verdict}\n`);
}

function count(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError('must be an integer from 1');
  return value;
}
