/** Writes through each fence beside the same write without it, by turns; then the stores, and how a group of replicas fails over. */

import { mkdirSync } from 'node:fs';

import type { WindowResult } from '../generator/closed-loop.ts';
import { resultRow, type RawWindow } from '../report/result-row.ts';
import type { BenchRun } from '../works/bench-run.ts';
import { measureWindow } from '../works/quiet-window.ts';
import type { OwnTarget } from '../works/table.ts';
import { WriteLoops } from './loops.ts';
import { NotInstalledError, type Pair, type PairSource, type Write } from './pair.ts';
import {
  clientsText,
  FAIL_OVER_ROWS,
  pairRows,
  PAIR_PLANS,
  tripRows,
  tripTarget,
  type FenceName,
  type PairPlan,
} from './plans.ts';
import { PAIR_SOURCES } from './sources.ts';
import { FAIL_OVER_TRIALS, timeFailOvers } from './stores/fail-over.ts';
import type { Trips } from './trips.ts';

/** Writes of which the round trips are counted. The most of one counts. */
const COUNTED_WRITES = 8;
/** A server's first writes, and what the compilers make of the clients. */
const WARM_UP_SLICES = 2;
/** There are many pairs, and both ways are measured by turns: short windows are worth as much as long ones. */
const MAX_WINDOW_MS = 1_000;

export async function measureFences(run: BenchRun, chosen: readonly FenceName[]): Promise<void> {
  for (const plan of PAIR_PLANS.filter(({ name }) => chosen.includes(name))) {
    for (const clients of plan.clients) {
      await attempt(run, plan, clients);
    }
  }
  if (chosen.includes('fail-over')) await run.attempt('fences: fail-over', () => measureFailOver(run));
}

async function attempt(run: BenchRun, plan: PairPlan, clients: number): Promise<void> {
  await run.attempt(`fences: ${plan.title}, ${clientsText(clients)}`, async () => {
    const directory = run.stageDirectory(`fences-${plan.name}`);
    mkdirSync(directory, { recursive: true });
    const source = PAIR_SOURCES[plan.name];
    let pair: Pair;
    try {
      pair = await source.open(directory, clients);
    } catch (error) {
      if (!(error instanceof NotInstalledError)) throw error;
      run.say(`fences: ${plan.title}: left out, since ${error.message}`);
      put(run, pairRows(plan, clients).through, [], { note: `left out, since ${error.message}` });
      return;
    }
    try {
      await measurePair(run, plan, { pair, source, clients });
    } finally {
      await pair.close();
    }
  });
}

interface Opened {
  readonly pair: Pair;
  readonly source: PairSource;
  readonly clients: number;
}

async function measurePair(run: BenchRun, plan: PairPlan, { pair, source, clients }: Opened): Promise<void> {
  const rows = pairRows(plan, clients);
  const ways = [
    { work: rows.without, loops: new WriteLoops(pair.without, clients), windows: [] as RawWindow[], options: {} },
    {
      work: rows.through,
      loops: new WriteLoops(pair.through, clients),
      windows: [] as RawWindow[],
      options: { target: rows.target, note: source.settings },
    },
  ];
  const { rampMs, windows } = run.effort;
  for (let slice = 0; slice < WARM_UP_SLICES; slice += 1) {
    for (const { loops } of ways) await loops.window(rampMs, windowMsOf(run));
  }
  if (clients === 1 && pair.trips !== undefined) await countTrips(run, plan, pair.trips, pair);
  for (let round = 0; round < windows; round += 1) {
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
      const window = await takeWindow(run, pair, way.loops);
      way.windows.push(window);
      put(run, way.work, way.windows, way.options);
      const rate = Math.round(window.value).toLocaleString('en');
      const disturbed = window.disturbed ? `, disturbed (${Math.round(100 * window.otherCores)} % by others)` : '';
      run.say(`${way.work}: window ${round + 1} of ${windows}: ${rate} writes/s${disturbed}`);
    }
  }
}

function windowMsOf({ effort }: BenchRun): number {
  return Math.min(effort.windowMs, MAX_WINDOW_MS);
}

async function takeWindow(run: BenchRun, pair: Pair, loops: WriteLoops): Promise<RawWindow> {
  const { rampMs } = run.effort;
  const value = ({ operations, seconds }: WindowResult): number => operations / seconds;
  const { window } = await run.repeats.quietest(() =>
    measureWindow({
      servers: pair.pids(),
      generator: process.pid,
      bystanders: [],
      measure: () => loops.window(rampMs, windowMsOf(run)),
      value,
    }),
  );
  return window;
}

async function countTrips(run: BenchRun, plan: PairPlan, trips: Trips, pair: Pair): Promise<void> {
  const most = async (write: Write): Promise<{ readonly sent: number; readonly waited: number }> => {
    let [sent, waited] = [0, 0];
    for (let n = 0; n < COUNTED_WRITES; n += 1) {
      const count = await trips.of(() => write(0));
      sent = Math.max(sent, count.sent);
      waited = Math.max(waited, count.waited);
    }
    return { sent, waited };
  };
  const [without, through] = [await most(pair.without), await most(pair.through)];
  const rows = tripRows(plan);
  const unit = 'round trips';
  put(run, rows.without, [counted(without.waited)], { unit });
  const target = plan.trips === 'judged' ? tripTarget(without.waited) : undefined;
  put(run, rows.through, [counted(through.waited)], { unit, target });
  put(run, rows.sent, [counted(through.sent)], { unit });
  run.say(`${rows.through}: ${through.waited} (${through.sent} sent), without it ${without.waited}`);
}

async function measureFailOver(run: BenchRun): Promise<void> {
  const directory = run.stageDirectory('fences-fail-over');
  mkdirSync(directory, { recursive: true });
  const { each, worst, target } = FAIL_OVER_ROWS;
  const times: number[] = [];
  await timeFailOvers(directory, (ms) => {
    times.push(ms);
    run.say(`${each}: trial ${times.length} of ${FAIL_OVER_TRIALS}: ${Math.round(ms)} ms`);
    put(run, each, times.map(counted), { unit: 'ms', target });
    put(run, worst, [counted(Math.max(...times))], { unit: 'ms', target });
  });
}

interface RowOptions {
  readonly unit?: string;
  readonly target?: OwnTarget | undefined;
  readonly note?: string;
}

function put(run: BenchRun, work: string, windows: readonly RawWindow[], options: RowOptions): void {
  const { unit = 'writes/s', target, note = '' } = options;
  const own = target === undefined ? {} : { target };
  run.results.put(resultRow({ work, system: 'holdfast', route: 'client', unit, windows, own, note }));
}

/** What was counted or timed once, beside no other processes of interest. */
function counted(value: number): RawWindow {
  const nothing = { generatorCores: 0, serverCores: 0, bystanderCores: 0, otherCores: 0, disturbed: false };
  return { value, operations: 1, allOperations: 1, seconds: 0, ...nothing };
}
