/**
 * Several loads side by side on one stage, measured by turns: kinds of locks, or ways to the same servers, besides the systems. Each round begins
 * with another load.
 */

import type { WindowResult } from '../generator/closed-loop.ts';
import { secondsOf } from '../machine/processor-time.ts';
import type { RawWindow } from '../report/result-row.ts';
import { GeneratorProcess, type Route } from '../systems/generator-process.ts';
import type { RunningSystem } from '../systems/system.ts';
import type { BenchRun } from './bench-run.ts';
import { counted, warmUp } from './loads.ts';
import { measureWindow } from './quiet-window.ts';
import type { Stage } from './stage.ts';

export interface TurnLoad {
  /** For whoever waits. */
  readonly name: string;
  readonly system: RunningSystem;
  readonly route: Route;
  /** The work of the generator. */
  readonly load: string;
  readonly sessions: number;
  /** What each answer of the generator counts as. @default 1 */
  readonly operationsEach?: number;
  /** The figure of a window. @default operations a second */
  readonly value?: (turn: Turn) => number;
  /** Called after each window with all so far. */
  readonly measured: (windows: readonly RawWindow[]) => void;
}

export interface Turn extends WindowResult {
  /** Processor time of the clients' process and of the servers from the first of `allOperations` to the last. */
  readonly processorSeconds: number;
}

export async function measureByTurns(run: BenchRun, stage: Stage, loads: readonly TurnLoad[]): Promise<void> {
  const actors: Actor[] = [];
  try {
    for (const [n, load] of loads.entries()) {
      const { system, route, sessions } = load;
      const leader = system.addresses[await system.leader()] ?? '';
      const options = { system: system.name, route, sessions, servers: [leader], prefix: `turn-${n}-${route}` };
      const generator = await GeneratorProcess.start({ ...options, work: load.load });
      actors.push({ load, generator, windows: [] });
    }
    run.say(`${loads.map(({ name }) => name).join('; ')}: warming up`);
    await warmUp(
      actors.map(({ generator }) => generator),
      run.effort.warmUp,
    );
    for (let round = 0; round < run.effort.windows; round += 1) {
      for (let turn = 0; turn < actors.length; turn += 1) {
        const actor = actors[(round + turn) % actors.length];
        if (actor === undefined) continue;
        actor.windows.push(
          await takeTurn(run, actor, [...stage.pids(), ...actors.map((it) => it.generator.pid)], round),
        );
        actor.load.measured(actor.windows);
      }
    }
  } finally {
    await Promise.all(actors.map(({ generator }) => generator.stop()));
  }
}

interface Actor {
  readonly load: TurnLoad;
  readonly generator: GeneratorProcess;
  readonly windows: RawWindow[];
}

async function takeTurn(
  run: BenchRun,
  { load, generator }: Actor,
  onStage: readonly number[],
  round: number,
): Promise<RawWindow> {
  const { rampMs, windowMs, windows } = run.effort;
  const servers = load.system.pids();
  const bystanders = onStage.filter((pid) => pid !== generator.pid && !servers.includes(pid));
  let processorSeconds = 0;
  const measure = async (): Promise<WindowResult> => {
    const working = [generator.pid, ...servers];
    const before = secondsOf(working);
    const result = await generator.window(rampMs, windowMs);
    processorSeconds = secondsOf(working) - before;
    return counted(result, load.operationsEach);
  };
  const value = (result: WindowResult): number => (load.value ?? rateOf)({ ...result, processorSeconds });
  const { window } = await run.repeats.quietest(
    () => measureWindow({ servers, generator: generator.pid, bystanders, measure, value }),
    (cores) => run.say(`${load.name}: repeated, others took ${Math.round(100 * cores)} % of a core`),
  );
  const rate = Math.round(rateOf(window)).toLocaleString('en');
  const disturbed = window.disturbed ? `, disturbed (${Math.round(100 * window.otherCores)} % by others)` : '';
  run.say(`${load.name} (${load.route}): window ${round + 1} of ${windows}: ${rate} a second${disturbed}`);
  return window;
}

function rateOf({ operations, seconds }: Pick<Turn, 'operations' | 'seconds'>): number {
  return operations / seconds;
}
