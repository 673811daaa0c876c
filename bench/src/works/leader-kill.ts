/** `kill -9` of the leader to the next successful write, seen by writers at both surviving servers. */

import { resultRow, type RawWindow } from '../report/result-row.ts';
import { GeneratorProcess } from '../systems/generator-process.ts';
import type { RunningSystem } from '../systems/system.ts';
import type { BenchRun } from './bench-run.ts';
import { singleWindow } from './single-window.ts';
import { Stage } from './stage.ts';
import { LEADER_KILL_ROW } from './table.ts';

const REJOIN_TIMEOUT_MS = 60_000;
/** The next leader shall be one that leads in a steady state, as in a running system. */
const STEADY_MS = 1_500;

export async function measureLeaderKill(run: BenchRun): Promise<void> {
  const { work, unit, target } = LEADER_KILL_ROW;
  for (const candidate of run.systems) {
    if (candidate.name === 'redis') continue;
    const stage = await Stage.start(run.stageDirectory('leader-kill'), [candidate]);
    try {
      const system = stage.systems.get(candidate.name);
      if (system === undefined) continue;
      const windows: RawWindow[] = [];
      for (let trial = 1; trial <= run.effort.killTrials; trial += 1) {
        const { window } = await run.repeats.quietest(() => strike(system));
        windows.push(window);
        run.results.put(resultRow({ work, unit, system: system.name, route: 'raw', windows, target }));
        run.say(`${work}: ${system.name}, trial ${trial} of ${run.effort.killTrials}: ${Math.round(window.value)} ms`);
      }
    } finally {
      await stage.clear();
    }
  }
}

async function strike(system: RunningSystem): Promise<{ readonly window: RawWindow }> {
  const leader = await system.leader();
  const pid = system.pid(leader);
  const survivors = system.addresses.filter((_, server) => server !== leader);
  const generator = await GeneratorProcess.start({
    system: system.name,
    route: 'raw',
    work: 'leader-kill',
    sessions: 1,
    servers: [system.addresses[leader] ?? '', ...survivors],
    prefix: `kill-${pid}`,
  });
  try {
    const { window } = await singleWindow(system, generator, async () => {
      const { ms } = await generator.order<{ ms: number }>({ type: 'kill', pid });
      return { value: ms, operations: 1 };
    });
    await system.noteKilled(leader);
    system.launchServer(leader);
    await rejoined(system, leader);
    await new Promise((resolve) => setTimeout(resolve, STEADY_MS));
    return { window };
  } finally {
    await generator.stop();
  }
}

async function rejoined(system: RunningSystem, server: number): Promise<void> {
  const deadline = performance.now() + REJOIN_TIMEOUT_MS;
  while (!(await system.serves(server))) {
    if (performance.now() > deadline) throw new Error(`${system.name}: the killed server did not come back`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
