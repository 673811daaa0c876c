/** `jepsen run` and `jepsen list`. */

import { join, resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { NEMESES } from '../../nemeses/index.ts';
import { writeIndex, type IndexedRun } from '../../report/write-report.ts';
import { drawableNemeses, drawLiveScenario, leastDurationMs } from '../../scenario/draw/live.ts';
import { PATTERNS } from '../../scenario/draw/patterns.ts';
import { liveCapabilities } from '../../targets/live/capabilities.ts';
import { INTERRUPTED } from '../../targets/live/end-signals.ts';
import { OlderBuildError } from '../../targets/live/versions/older-build.ts';
import { namespacesMissing } from '../../targets/live/network/namespaces.ts';
import { USUAL_NAMES, WORKLOADS } from '../../workloads/index.ts';
import { pairings, type Pairing } from './classes.ts';
import { execute, TARGETS, type TargetName } from './execute.ts';
import { EXIT_CODES, USAGE_EXIT_CODE, type RunResult, type RunVerdict } from './result.ts';
import { RunDirectoryError } from './run-directory.ts';
import { formatResult } from './format-result.ts';
import { namesOf, workloadNames } from '../names.ts';

interface RunFlags {
  readonly workload: readonly string[];
  readonly nemesis: readonly string[];
  readonly all?: true;
  readonly time: number;
  readonly seed: number;
  readonly servers: 3 | 5;
  readonly clients: number;
  readonly atOnce: number;
  readonly sessionsPerClient: number;
  readonly target: TargetName;
  readonly out?: string;
  readonly olderLockd?: string;
  readonly loopback?: true;
  readonly recovery: number;
}

const DEFAULT_NEMESES = ['kill', 'pause', 'partition'];
const DEFAULT_OUT = '.holdfast/jepsen';

export function runCommand(): Command {
  return new Command('run')
    .description('runs real servers, clients and store under faults, and judges what clients were told')
    .option('--workload <names>', 'what clients do, separated by commas (see jepsen list)', workloadNames, USUAL_NAMES)
    .option('--nemesis <names>', 'what goes wrong, separated by commas; none: nothing', nemesisNames, DEFAULT_NEMESES)
    .option('--all', 'every workload under every class of faults, one after another')
    .option('--time <seconds>', 'how long faults strike, in each run', wholeNumber(15), 60)
    .option('--seed <number>', 'of plan and schedule', wholeNumber(0), 1)
    .addOption(new Option('--servers <count>').choices(['3', '5']).default(3).argParser(serverCount))
    .option('--at-once <count>', 'so many nemeses have their turns at the same time', wholeNumber(1), 1)
    .option('--clients <count>', 'client processes', wholeNumber(1), 4)
    .option('--sessions-per-client <count>', 'applications in each of them', wholeNumber(1), 1)
    .addOption(new Option('--target <name>', 'real processes, or a simulated world').choices(TARGETS).default('live'))
    .option('--out <directory>', 'where scenario, history, result, logs and data are kept')
    .option('--loopback', 'no network namespaces, even where this machine has them: proxies stand for links')
    .option(
      '--recovery <seconds>',
      'within which every client must work again on the healed system',
      wholeNumber(1),
      10,
    )
    .option(
      '--older-lockd <main>',
      'the built main file of a release: the older version, where versions change',
      absolute,
    )
    .action(runRuns);
}

export function listCommand(): Command {
  return new Command('list').description('tells what there is to run: workloads, nemeses, targets').action(async () => {
    process.stdout.write(`${await listing()}\n`);
  });
}

async function runRuns(flags: RunFlags): Promise<void> {
  try {
    process.exitCode = EXIT_CODES[flags.all === true ? await runAll(flags) : await runOne(flags)];
  } catch (error) {
    const isUsage = [RunDirectoryError, UsageError, OlderBuildError].some((kind) => error instanceof kind);
    if (!isUsage || !(error instanceof Error)) throw error;
    process.stderr.write(`jepsen run: ${error.message}\n`);
    process.exitCode = USAGE_EXIT_CODE;
  }
}

class UsageError extends Error {}

/** @throws UsageError */
function requireTime({ time }: RunFlags, kinds: number, atOnce: number): void {
  const least = Math.ceil(leastDurationMs(kinds, atOnce) / 1_000);
  if (time < least) throw new UsageError(`--time ${time} is too short for each nemesis to strike; give ${least}`);
}

function changesVersions(name: string): boolean {
  return PATTERNS.some((pattern) => pattern.name === name && pattern.kinds.includes('change-version'));
}

async function runOne(flags: RunFlags): Promise<RunVerdict> {
  const { workload, nemesis, atOnce } = flags;
  if (flags.olderLockd !== undefined && !nemesis.some(changesVersions)) {
    throw new UsageError('--older-lockd is for runs that change versions; give --nemesis rolling-upgrade, too');
  }
  requireTime(flags, nemesis.length, atOnce);
  const directory = flags.out ?? join(DEFAULT_OUT, `run-${flags.seed}`);
  const result = await run(flags, { workloads: workload, nemeses: nemesis, atOnce }, directory);
  process.stdout.write(`${formatResult(result, directory)}\n`);
  return result.verdict;
}

async function runAll(flags: RunFlags): Promise<RunVerdict> {
  const out = flags.out ?? join(DEFAULT_OUT, `all-${flags.seed}`);
  const pairs = pairings(await liveCapabilities());
  for (const { nemeses, atOnce } of pairs) requireTime(flags, nemeses.length, atOnce);
  const verdicts: RunVerdict[] = [];
  const runs: IndexedRun[] = [];
  for (const [n, pair] of pairs.entries()) {
    const { name, workloads } = pair;
    const directory = join(out, name);
    const result = await run(flags, pair, directory);
    verdicts.push(result.verdict);
    runs.push(indexed(name, workloads, result));
    process.stdout.write(`[${n + 1}/${pairs.length}] ${name}\n${formatResult(result, directory)}\n\n`);
    if (result.failure?.name === INTERRUPTED.name) break;
  }
  const index = await writeIndex(out, { title: `all workloads, seed ${flags.seed}`, runs });
  const bad = (['invalid', 'unknown'] as const).find((verdict) => verdicts.includes(verdict));
  const counts = (['valid', 'invalid', 'unknown'] as const)
    .map((verdict) => `${verdicts.filter((each) => each === verdict).length} ${verdict}`)
    .join(', ');
  const ended = verdicts.length === pairs.length ? '' : ` of ${pairs.length}`;
  process.stdout.write(`${verdicts.length}${ended} runs: ${counts}; see ${index}\n`);
  return bad ?? 'valid';
}

function indexed(name: string, workloads: readonly string[], result: RunResult): IndexedRun {
  const calls = Object.values(result.operations).reduce((sum, { invoke = 0 }) => sum + invoke, 0);
  const struck = Object.values(result.begun).reduce((sum, count) => sum + count, 0);
  return {
    workload: workloads.join(', '),
    faults: name.slice(name.lastIndexOf('-under-') + '-under-'.length),
    valid: result.verdict === 'unknown' ? 'unknown' : result.verdict === 'valid',
    href: `${name}/report.html`,
    title: name,
    calls,
    durationMs: result.durationMs,
    struck,
    message: result.verdict === 'valid' ? undefined : result.why,
  };
}

async function run(
  flags: RunFlags,
  { workloads, nemeses, atOnce }: Omit<Pairing, 'name'>,
  directory: string,
): Promise<RunResult> {
  const { seed, servers, clients, sessionsPerClient, time, target, olderLockd } = flags;
  const scenario = drawLiveScenario({
    seed,
    servers,
    clients,
    sessionsPerClient,
    durationMs: 1_000 * time,
    workloads,
    nemeses,
    atOnce,
    ...(olderLockd === undefined ? {} : { olderLockd }),
  });
  const loopback = flags.loopback === true;
  return await execute(scenario, { target, directory, loopback, recoveryMs: 1_000 * flags.recovery });
}

async function listing(): Promise<string> {
  const workloads = WORKLOADS.map(
    ({ name, checks }) => `  ${name.padEnd(20)} judged by ${checks.join(', ') || 'nobody'}`,
  );
  const drawable = new Set(drawableNemeses());
  const nemeses = NEMESES.map(({ kind, needs }) => {
    const how = drawable.has(kind) ? '' : '; not drawn by itself';
    return `  ${kind.padEnd(20)} needs ${needs.join(', ')}${how}`;
  });
  const patterns = PATTERNS.map(({ name, kinds, what }) => `  ${name.padEnd(20)} ${what} (${kinds.join(', ')})`);
  const capabilities = await liveCapabilities();
  const onLoopback = namespacesMissing();
  return [
    'workloads (--workload)',
    ...workloads,
    'nemeses (--nemesis)',
    ...nemeses,
    'patterns of them (--nemesis, too)',
    ...patterns,
    'targets (--target)',
    `  live                 real processes; here it can inflict what needs ${capabilities.join(', ')}`,
    `                       hosts are ${onLoopback === undefined ? 'in namespaces of their own' : `on the loopback: ${onLoopback}`}`,
    '  sim                  a simulated world; it can inflict everything',
  ].join('\n');
}

function nemesisNames(text: string): readonly string[] {
  if (text === 'none') return [];
  const names = [...drawableNemeses(), ...PATTERNS.map(({ name }) => name)];
  return namesOf(text, names, 'nemesis');
}

/** A run is replayed from any directory. */
function absolute(path: string): string {
  return resolve(path);
}

function serverCount(text: string): 3 | 5 {
  if (text === '3') return 3;
  if (text === '5') return 5;
  throw new InvalidArgumentError('give 3 or 5');
}

function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least) throw new InvalidArgumentError(`give a whole number from ${least}`);
    return value;
  };
}
