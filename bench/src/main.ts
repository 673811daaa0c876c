/** `bench`: measures a local ensemble that it starts for the purpose. Prints Markdown tables; absolute times are this machine's. */

import { Command, InvalidArgumentError } from 'commander';

import { measureCycles } from './cycles.ts';
import { measureFailOver, type Fault } from './fail-over.ts';
import { measureQuiet } from './quiet.ts';
import { median } from './statistics.ts';

const WORKS = ['cycles', 'fail-over', 'quiet'] as const;
type Work = (typeof WORKS)[number];

interface Flags {
  readonly only: readonly Work[];
  readonly quick: boolean;
  readonly trials: number;
  readonly minutes: number;
}

const program = new Command('bench')
  .description('measure a local ensemble of three servers with durable writes')
  .option('--only <names>', `which works, separated by commas: ${WORKS.join(', ')}`, parseWorks, [...WORKS])
  .option('--quick', 'shorter windows and fewer trials', false)
  .option('--trials <n>', 'trials of each fault of fail-over', parseCount, 20)
  .option('--minutes <n>', 'how long quiet watches', parseCount, 10)
  .action(async (flags: Flags) => {
    if (flags.only.includes('cycles')) await cycles(flags.quick);
    if (flags.only.includes('fail-over')) await failOver(flags.quick ? Math.min(5, flags.trials) : flags.trials);
    if (flags.only.includes('quiet')) await quiet(flags.quick ? 1 : flags.minutes);
  });

await program.parseAsync();

function parseWorks(text: string): Work[] {
  return text.split(',').map((name) => {
    const work = WORKS.find((known) => known === name.trim());
    if (work === undefined) throw new InvalidArgumentError(`"${name}" is none of ${WORKS.join(', ')}`);
    return work;
  });
}

function parseCount(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError(`"${text}" is not a positive integer`);
  return value;
}

async function cycles(quick: boolean): Promise<void> {
  print('\n## Uncontended acquire+release\n');
  print('| sessions | cycles/s | windows | acquire p50 ms | p99 ms | cores: leader | both followers | generator |');
  print('|---|---|---|---|---|---|---|---|');
  await measureCycles({
    sessions: [1, 16, 64, 256],
    windows: quick ? 3 : 5,
    windowMs: quick ? 1_000 : 4_000,
    warmUpMs: quick ? 2_000 : 5_000,
    report: ({ sessions, windows, cyclesPerSecond, acquireP50Ms, acquireP99Ms, cores }) => {
      const shares =
        cores === undefined ? ['–', '–', '–'] : [cores.leader, cores.followers, cores.generator].map(fixed);
      const range = `${Math.round(Math.min(...windows))}–${Math.round(Math.max(...windows))}`;
      const row = [sessions, Math.round(cyclesPerSecond), range, fixed(acquireP50Ms), fixed(acquireP99Ms), ...shares];
      print(`| ${row.join(' | ')} |`);
    },
  });
}

async function failOver(trials: number): Promise<void> {
  const faults: readonly (readonly [Fault, string])[] = [
    ['kill', 'kill -9 of the leader'],
    ['stop', 'SIGSTOP of the leader'],
  ];
  print('\n## From the fault to the next acquire that succeeds\n');
  for (const [fault, name] of faults) {
    const gapsMs = await measureFailOver({
      fault,
      trials,
      report: (trial, gapMs) => print(`${name}, trial ${trial} of ${trials}: ${Math.round(gapMs)} ms`),
    });
    const range = `${Math.round(Math.min(...gapsMs))}–${Math.round(Math.max(...gapsMs))}`;
    print(`\n**${name}: median ${Math.round(median(gapsMs))} ms** (${range}, ${gapsMs.length} trials)\n`);
  }
}

async function quiet(minutes: number): Promise<void> {
  print('\n## Leadership while every core is busy with other work\n');
  const { seconds, busyProcesses, termBefore, termAfter } = await measureQuiet(minutes * 60, (second, term) => {
    if (second % 60 === 0) print(`after ${second} s: term ${term}`);
  });
  const verdict = termAfter === termBefore ? 'no leader change' : `${termAfter - termBefore} elections`;
  print(
    `\n**${verdict}** in ${seconds} s beside ${busyProcesses} busy processes (term ${termBefore}, then ${termAfter})\n`,
  );
  if (termAfter !== termBefore) process.exitCode = 1;
}

function fixed(value: number): string {
  return value.toFixed(2);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
