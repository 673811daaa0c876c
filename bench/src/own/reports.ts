/** Measurements of our own servers alone, through the SDK: fail-over by fault, leadership beside other work, and a server that joins. */

import { loadavg } from 'node:os';

import type { BenchOptions } from '../options.ts';
import { median } from '../statistics.ts';
import { measureCrowd } from './crowd/crowd.ts';
import { measureFailOver, type Fault } from './fail-over.ts';
import { JoinTrial, type JoinStep } from './join.ts';
import { measureLargeTransactions } from './large-transactions/large-transactions.ts';
import { LARGE_TRANSACTIONS_HEAD, largeTransactionRow, stallMs } from './large-transactions/table.ts';
import { measureQuiet } from './quiet.ts';
import { measureResume } from './resume/resume.ts';
import { RESUME_HEAD, isWhole, resumeRow } from './resume/table.ts';
import { withScratchEnsemble } from './scratch-ensemble.ts';
import { toldOnce, watchesTable } from './watches/table.ts';
import { measureWatches } from './watches/watches.ts';

export async function reportFailOver(trials: number): Promise<void> {
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

export async function reportQuiet(minutes: number): Promise<void> {
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

const MIB = 1024 * 1024;
const JOIN_STEP_LIMIT_MS = 300_000;

export async function reportJoin(stateMib: number, say: (line: string) => void): Promise<void> {
  print(`\n## Acquires beside snapshots of ${stateMib.toLocaleString('en')} MiB\n`);
  print('| meanwhile | s | acquires | p50 ms | p99 ms | worst ms | p99 of quiet | other processes, cores |');
  print('|---|---|---|---|---|---|---|---|');
  await withScratchEnsemble(
    async (ensemble) => {
      let quiet: JoinStep | undefined;
      const options = { stateBytes: stateMib * MIB, quietMs: 10_000, stepLimitMs: JOIN_STEP_LIMIT_MS };
      const trial = await JoinTrial.begin(ensemble, options, (step) => {
        quiet ??= step;
        print(joinRow(step, quiet));
      });
      try {
        say('filling the state');
        await trial.fill();
        await trial.quiet();
        await trial.snapshots();
        await trial.join();
        say('stopping it, and writing as much as the state has');
        await trial.stopBehind();
        await trial.comeBack();
      } finally {
        await trial.end();
      }
    },
    { room: 1 },
  );
}

function joinRow(step: JoinStep, quiet: JoinStep): string {
  const { name, seconds, acquires, p50Ms, p99Ms, worstMs, otherCores } = step;
  const times = [p50Ms, p99Ms, worstMs].map((ms) => ms.toFixed(1));
  const factor = `${(p99Ms / quiet.p99Ms).toFixed(1)} ×`;
  const others = otherCores?.toFixed(2) ?? '–';
  return `| ${[name, seconds.toFixed(1), acquires.toLocaleString('en'), ...times, factor, others].join(' | ')} |`;
}

/** So many rounds of `crowd` where `--trials` is not given. */
const QUICK_CROWD = { sessions: 300, rounds: 2 };

export async function reportCrowd(chosen: BenchOptions, say: (line: string) => void): Promise<void> {
  const { quick, sessionTimeoutMs, processes } = chosen;
  const sessions = quick ? Math.min(QUICK_CROWD.sessions, chosen.sessions) : chosen.sessions;
  const rounds = quick ? QUICK_CROWD.rounds : chosen.trials;
  print(`\n## kill -9 of the leader under ${sessions} sessions (timeout ${sessionTimeoutMs / 1_000} s)\n`);
  print('| round | last served, ms | median, ms | served | expired | terms | clients, s of processor | load |');
  print('|---|---|---|---|---|---|---|---|');
  const results = await measureCrowd({
    sessions,
    sessionTimeoutMs,
    processes,
    rounds,
    say,
    report: ({ round, lastMs, medianMs, served, expired, terms, clientSeconds, failures }) => {
      const load = loadavg()[0]?.toFixed(1) ?? '';
      print(`| ${[round, lastMs, medianMs, served, expired, terms, clientSeconds.toFixed(1), load].join(' | ')} |`);
      if (failures !== '') say(`round ${round}: ${failures}`);
    },
  });
  const whole = results.filter(({ served, expired }) => served === sessions && expired === 0).length;
  const worst = Math.max(...results.map(({ lastMs }) => lastMs));
  print(`\n**${whole} of ${rounds} rounds with everybody served and nobody expired; the slowest took ${worst} ms**\n`);
  if (whole < rounds) process.exitCode = 1;
}

const QUICK_RESUME = { clients: 300, rounds: 1 };
const RESUME_STEADY_MS = 5_000;

export async function reportResume(chosen: BenchOptions, say: (line: string) => void): Promise<void> {
  const { quick, sessionTimeoutMs, processes } = chosen;
  const clients = quick ? Math.min(QUICK_RESUME.clients, chosen.watchingClients) : chosen.watchingClients;
  const rounds = quick ? QUICK_RESUME.rounds : chosen.rounds;
  print(
    `\n## kill -9 of the leader under ${clients} clients with recursive watches (timeout ${sessionTimeoutMs / 1_000} s)\n`,
  );
  for (const line of RESUME_HEAD) print(line);
  const results = await measureResume({
    clients,
    sessionTimeoutMs,
    processes,
    rounds,
    steadyMs: RESUME_STEADY_MS,
    say,
    report: (round) => print(resumeRow(round, loadavg()[0] ?? 0)),
  });
  const whole = results.filter((round) => isWhole(clients, round)).length;
  const worst = Math.max(...results.map(({ lastMs }) => lastMs));
  print(
    `\n**${whole} of ${rounds} rounds with every change told once to everybody; the slowest client took ${worst} ms**\n`,
  );
  if (whole < rounds) process.exitCode = 1;
}

const QUICK_WATCHES = 20_000;
/** How long a server gets to give memory back before it is looked at. */
const COLLECT_MS = 15_000;
const QUICK_COLLECT_MS = 1_000;

export async function reportWatches(chosen: BenchOptions, say: (line: string) => void): Promise<void> {
  const { quick, connections } = chosen;
  const watches = quick ? Math.min(QUICK_WATCHES, chosen.watches) : chosen.watches;
  const collectMs = quick ? QUICK_COLLECT_MS : COLLECT_MS;
  print(`\n## ${watches.toLocaleString('en')} one-shot watches from ${connections} connections\n`);
  const result = await measureWatches({ watches, connections, collectMs, say });
  for (const line of watchesTable(watches, result)) print(line);
  if (!toldOnce(result)) process.exitCode = 1;
}

const LARGE_TRANSACTION = { quick: 4_000, full: 40_000 };

export async function reportLargeTransactions(chosen: BenchOptions, say: (line: string) => void): Promise<void> {
  const deletes = LARGE_TRANSACTION[chosen.quick ? 'quick' : 'full'];
  print(`\n## Acquires beside one transaction of ${deletes.toLocaleString('en')} deletes\n`);
  for (const line of LARGE_TRANSACTIONS_HEAD) print(line);
  const rounds = await measureLargeTransactions({
    deletes,
    rounds: chosen.quick ? 1 : chosen.rounds,
    say,
    report: (round) => print(largeTransactionRow(round)),
  });
  const stalls = rounds.map(stallMs);
  const range = `${Math.round(Math.min(...stalls))}–${Math.round(Math.max(...stalls))}`;
  print(`\n**longer than the slowest without it: ${Math.round(median(stalls))} ms** (${range})\n`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
