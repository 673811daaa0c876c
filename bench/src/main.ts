/** `bench`: measures local servers that it starts for the purpose. Progress goes to standard error, tables to standard output. */

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { countCosts, reportCosts } from './count/count.ts';
import { describeMachine } from './machine/description.ts';
import { parseOptions, type BenchOptions } from './options.ts';
import {
  reportCrowd,
  reportFailOver,
  reportJoin,
  reportLargeTransactions,
  reportQuiet,
  reportResume,
  reportWatches,
} from './own/reports.ts';
import { measureFences } from './fences/measure.ts';
import { writeCharts } from './report/charts.ts';
import { reportOutages } from './outages/report.ts';
import { markdownReport } from './report/markdown.ts';
import { Results } from './report/results.ts';
import { installPeer } from './systems/debian.ts';
import { holdfast } from './systems/holdfast.ts';
import { BenchRun, FULL, QUICK } from './works/bench-run.ts';
import { measureElections } from './works/locks/elections.ts';
import { measureLeaderKill } from './works/leader-kill.ts';
import { measureClients, measureLoads } from './works/loads.ts';
import { measureLockKinds } from './works/locks/lock-kinds.ts';
import { measureMemory } from './works/memory.ts';
import { measureRestart } from './works/restart.ts';
import { measureSdk } from './works/locks/sdk.ts';
import { LOAD_ROWS } from './works/table.ts';
import { measureWaiters } from './works/locks/waiters.ts';
import { measureWatchers } from './works/watchers.ts';

const startedAt = performance.now();
const options = await parseOptions(process.argv);
try {
  if (process.platform !== 'linux') throw new Error('bench reads /proc, so it runs on Linux only');
  await measure(options);
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function measure(chosen: BenchOptions): Promise<void> {
  const directory = resolve(chosen.logs ?? mkdtempSync(join(tmpdir(), 'holdfast-bench-')));
  mkdirSync(directory, { recursive: true });
  if (chosen.count) {
    const counted = await countCosts(directory, say);
    if (!reportCosts(counted, chosen.writeBaseline, print)) process.exitCode = 1;
    return;
  }
  const systems = [holdfast(), ...chosen.against.map((name) => installPeer(name, say))];
  const planned = chosen.quick ? QUICK : FULL;
  const { native = planned.native, windows = planned.windows } = chosen;
  const effort = { ...planned, native, windows };
  const run = new BenchRun(effort, systems, { directory, results: new Results(chosen.json) }, say);
  say(`logs are kept in ${directory}`);

  const wanted = new Set(chosen.only);
  await measureLoads(
    run,
    LOAD_ROWS.filter(({ group }) => wanted.has(group)),
  );
  const singles = [
    ['watchers', measureWatchers],
    ['leader-kill', measureLeaderKill],
    ['memory', measureMemory],
    ['restart', measureRestart],
  ] as const;
  for (const [work, measureWork] of singles) {
    if (wanted.has(work)) await run.attempt(work, () => measureWork(run));
  }
  if (wanted.has('clients')) await measureClients(run);
  const ofLocks = [
    ['lock-kinds', measureLockKinds],
    ['sdk', measureSdk],
    ['elections', measureElections],
    ['waiters', measureWaiters],
  ] as const;
  for (const [work, measureWork] of ofLocks) {
    if (wanted.has(work)) await run.attempt(work, () => measureWork(run));
  }
  if (wanted.has('fences')) await measureFences(run, chosen.fences);
  if (run.rows.length > 0) report(run, chosen);
  for (const failure of run.failures) process.stderr.write(`bench: ${failure}\n`);
  if (run.failures.length > 0) process.exitCode = 1;

  if (wanted.has('fail-over')) await reportFailOver(chosen.quick ? Math.min(5, chosen.trials) : chosen.trials);
  if (wanted.has('quiet')) await reportQuiet(chosen.quick ? 1 : chosen.minutes);
  if (wanted.has('join')) await reportJoin(chosen.quick ? Math.min(64, chosen.stateMib) : chosen.stateMib, say);
  if (wanted.has('crowd')) await reportCrowd(chosen, say);
  if (wanted.has('watches')) await reportWatches(chosen, say);
  if (wanted.has('large-transactions')) await reportLargeTransactions(chosen, say);
  if (wanted.has('resume')) await reportResume(chosen, say);
  if (wanted.has('outages')) await reportOutages(chosen, directory, say);
}

function report(run: BenchRun, chosen: BenchOptions): void {
  const { rows } = run;
  const command = ['npx -y pnpm@12 bench', ...process.argv.slice(2).filter((argument) => argument !== '--')].join(' ');
  const { systems, failures } = run;
  const markdown = markdownReport({ rows, systems, failures, machine: describeMachine(run.directory), command });
  process.stdout.write(markdown);
  if (chosen.markdown !== undefined) writeFileSync(chosen.markdown, markdown);
  if (chosen.charts !== undefined) for (const file of writeCharts(chosen.charts, rows)) say(`wrote ${file}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function say(line: string): void {
  const seconds = String(Math.round((performance.now() - startedAt) / 1_000)).padStart(4);
  process.stderr.write(`${seconds} s  ${line}\n`);
}
