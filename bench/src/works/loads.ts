/**
 * The works that are closed loops. All systems stand on the stage together, with warm generators; the windows go round, each round
 * beginning with another system, so that a slow moment of the machine meets all of them alike.
 */

import type { WindowResult } from '../generator/closed-loop.ts';
import type { SystemName } from '../generator/systems.ts';
import { resultRow, type RawWindow, type ResultRow } from '../report/result-row.ts';
import { GeneratorProcess, hasNativeGenerator, type Route } from '../systems/generator-process.ts';
import type { Progress, RunningSystem } from '../systems/system.ts';
import type { BenchRun, WarmUp } from './bench-run.ts';
import { measureWindow } from './quiet-window.ts';
import { Stage } from './stage.ts';
import { CLIENT_SESSIONS, type LoadRow } from './table.ts';

interface Actor {
  readonly system: RunningSystem;
  readonly route: Route;
  readonly generator: GeneratorProcess;
  readonly windows: RawWindow[];
  readonly latencies: RawWindow[];
  durableWrites: number | null;
  commitIndexBefore: number | null;
  commitIndexAfter: number | null;
}

interface Load {
  readonly work: string;
  readonly load: string;
  readonly sessions: number;
  readonly outstanding: number;
  readonly unit: string;
  readonly operationsEach?: number;
  readonly systems: readonly SystemName[];
  readonly routes: (system: SystemName) => readonly Route[];
  /** The rows of an actor, as far as it has come. */
  readonly rows: (actor: Actor) => readonly ResultRow[];
}

export async function measureLoads(run: BenchRun, rows: readonly LoadRow[]): Promise<void> {
  await onStages(run, { stage: 'loads', rows, nameOf: ({ work }) => work }, async (row, stage) => {
    await measure(run, stage, {
      ...row,
      systems: [...stage.systems.keys()].filter((name) => row.redis || name !== 'redis'),
      routes: (system) => (run.effort.native && hasNativeGenerator(system) ? ['raw', 'native'] : ['raw']),
      rows: (actor) => rowsOf(row, actor),
    });
  });
}

/** The second table: through the best client library of each system. */
export async function measureClients(run: BenchRun): Promise<void> {
  const nameOf = (sessions: number): string =>
    `acquire+release through Node clients, ${sessions} ${sessions === 1 ? 'session' : 'sessions'}`;
  await onStages(run, { stage: 'clients', rows: CLIENT_SESSIONS, nameOf }, async (sessions, stage) => {
    const work = nameOf(sessions);
    const unit = 'cycles/s';
    const systems = [...stage.systems.keys()];
    const load = { work, load: 'cycles', sessions, outstanding: sessions, unit, systems };
    await measure(run, stage, {
      ...load,
      routes: () => ['client'],
      rows: (actor) => {
        const { system, route, windows } = actor;
        return [resultRow({ work, unit, system: system.name, route, windows, ...progressOf(actor) })];
      },
    });
  });
}

interface StagedRows<Row> {
  readonly stage: string;
  readonly rows: readonly Row[];
  readonly nameOf: (row: Row) => string;
}

async function onStages<Row>(
  run: BenchRun,
  { stage: name, rows, nameOf }: StagedRows<Row>,
  measureRow: (row: Row, stage: Stage) => Promise<void>,
): Promise<void> {
  let stage: Stage | undefined;
  const clear = async (): Promise<void> => {
    const used = stage;
    stage = undefined;
    await used?.clear();
  };
  for (const row of rows) {
    await run.attempt(nameOf(row), async () => {
      let measured = false;
      try {
        stage ??= await Stage.start(run.stageDirectory(name), run.systems);
        await measureRow(row, stage);
        measured = true;
      } finally {
        if (run.effort.freshServers || !measured) await clear();
      }
    });
  }
  await clear();
}

async function measure(run: BenchRun, stage: Stage, load: Load): Promise<void> {
  const actors: Actor[] = [];
  try {
    for (const name of load.systems) {
      const system = stage.systems.get(name);
      if (system === undefined) continue;
      for (const route of load.routes(name)) actors.push(await prepare(run, system, route, load));
    }
    run.say(`${load.work}: warming up`);
    await warmUp(
      actors.map(({ generator }) => generator),
      run.effort.warmUp,
    );
    for (let round = 0; round < run.effort.windows; round += 1) {
      for (let turn = 0; turn < actors.length; turn += 1) {
        const actor = actors[(round + turn) % actors.length];
        if (actor === undefined) continue;
        const generators = actors.map(({ generator }) => generator.pid);
        await takeWindow(run, load, actor, [...stage.pids(), ...generators], round);
        for (const row of load.rows(actor)) run.results.put(row);
      }
    }
  } finally {
    await Promise.all(actors.map(({ generator }) => generator.stop()));
  }
}

/** By turns, as they are measured: who had stood idle while the others got warm would begin cold. */
export async function warmUp(
  generators: readonly Pick<GeneratorProcess, 'window'>[],
  { sliceMs, operations, slices }: WarmUp,
): Promise<void> {
  const done = generators.map(() => 0);
  for (let slice = 0; slice < slices && (slice === 0 || Math.min(...done) < operations); slice += 1) {
    for (const [n, generator] of generators.entries()) {
      done[n] = (done[n] ?? 0) + (await generator.window(0, sliceMs)).allOperations;
    }
  }
}

async function prepare(run: BenchRun, system: RunningSystem, route: Route, load: Load): Promise<Actor> {
  const leader = system.addresses[await system.leader()] ?? '';
  const generator = await GeneratorProcess.start({
    system: system.name,
    route,
    work: load.load,
    sessions: load.sessions,
    outstanding: load.outstanding,
    // Where every system is fastest: with the server that everything goes through.
    servers: [leader],
    prefix: `b${run.results.length}-${route}`,
  });
  const nothing = { durableWrites: 0, commitIndexBefore: null, commitIndexAfter: null };
  return { system, route, generator, windows: [], latencies: [], ...nothing };
}

async function takeWindow(
  run: BenchRun,
  load: Load,
  actor: Actor,
  onStage: readonly number[],
  round: number,
): Promise<void> {
  const { system, generator, route } = actor;
  const { rampMs, windowMs, windows } = run.effort;
  const name = `${load.work}: ${system.name} (${route})`;
  const servers = system.pids();
  const before = await system.progress();
  const options = {
    servers,
    generator: generator.pid,
    bystanders: onStage.filter((pid) => pid !== generator.pid && !servers.includes(pid)),
    measure: async () => counted(await generator.window(rampMs, windowMs), load.operationsEach),
    value: ({ operations, seconds }: WindowResult) => operations / seconds,
  };
  const { window, result } = await run.repeats.quietest(
    () => measureWindow(options),
    (cores) => run.say(`${name}: repeated, others took ${Math.round(100 * cores)} % of a core`),
  );
  const after = await system.progress();
  actor.windows.push(window);
  if (result.p50Ms !== null) actor.latencies.push({ ...window, value: result.p50Ms });
  actor.durableWrites = added(actor.durableWrites, before, after);
  actor.commitIndexBefore ??= before.commitIndex;
  actor.commitIndexAfter = after.commitIndex;
  run.say(
    `${name}: window ${round + 1} of ${windows}: ${Math.round(window.value).toLocaleString('en')} ${load.unit}, ` +
      `p50 ${result.p50Ms?.toFixed(2) ?? '–'} ms, generator ${Math.round(100 * window.generatorCores)} % of a core` +
      (window.disturbed ? `, disturbed (${Math.round(100 * window.otherCores)} % by others)` : ''),
  );
}

/** In operations, of which each that the generator has counted is several. */
export function counted(result: WindowResult, operationsEach = 1): WindowResult {
  const { operations, allOperations } = result;
  return { ...result, operations: operationsEach * operations, allOperations: operationsEach * allOperations };
}

function added(total: number | null, before: Progress, after: Progress): number | null {
  if (total === null || before.durableWrites === null || after.durableWrites === null) return null;
  return total + after.durableWrites - before.durableWrites;
}

function progressOf(actor: Actor): { readonly before: Progress; readonly after: Progress } {
  const { commitIndexBefore, commitIndexAfter, durableWrites } = actor;
  return {
    before: { commitIndex: commitIndexBefore, durableWrites: durableWrites === null ? null : 0 },
    after: { commitIndex: commitIndexAfter, durableWrites },
  };
}

function rowsOf(row: LoadRow, actor: Actor): ResultRow[] {
  const common = { system: actor.system.name, route: actor.route, ...progressOf(actor) };
  const rate = resultRow({ ...common, work: row.work, unit: row.unit, windows: actor.windows, target: row.target });
  if (row.latency === undefined) return [rate];
  const { work, target } = row.latency;
  return [rate, resultRow({ ...common, work, unit: 'ms', windows: actor.latencies, target })];
}
