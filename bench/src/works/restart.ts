/** From the start of a follower's process until a session of its own reads the last of its many nodes. */

import { resultRow, type RawWindow } from '../report/result-row.ts';
import { GeneratorProcess } from '../systems/generator-process.ts';
import type { RunningSystem } from '../systems/system.ts';
import type { BenchRun } from './bench-run.ts';
import { singleWindow } from './single-window.ts';
import { Stage } from './stage.ts';
import { restartRow } from './table.ts';

const WRITING_SESSIONS = 4;

export async function measureRestart(run: BenchRun): Promise<void> {
  const { nodes, restartTrials } = run.effort;
  const { work, unit, target } = restartRow(nodes);
  for (const candidate of run.systems) {
    if (candidate.name === 'redis') continue;
    const stage = await Stage.start(run.stageDirectory('restart'), [candidate]);
    try {
      const system = stage.systems.get(candidate.name);
      if (system === undefined) continue;
      run.say(`${work}: ${system.name}: creating the nodes`);
      const last = await createNodes(system, nodes);
      const windows: RawWindow[] = [];
      for (let trial = 1; trial <= restartTrials; trial += 1) {
        const { window } = await run.repeats.quietest(() => restartFollower(system, last));
        windows.push(window);
        run.results.put(resultRow({ work, unit, system: system.name, route: 'raw', windows, target }));
        run.say(`${work}: ${system.name}, trial ${trial} of ${restartTrials}: ${window.value.toFixed(2)} s`);
      }
    } finally {
      await stage.clear();
    }
  }
}

/** The path of the last one. */
async function createNodes(system: RunningSystem, count: number): Promise<string> {
  const generator = await GeneratorProcess.start({
    system: system.name,
    route: 'raw',
    work: 'nodes',
    sessions: WRITING_SESSIONS,
    servers: [system.addresses[await system.leader()] ?? ''],
    prefix: 'restart',
  });
  try {
    return (await generator.order<{ last: string }>({ type: 'nodes', count })).last;
  } finally {
    await generator.stop();
  }
}

async function restartFollower(system: RunningSystem, last: string): Promise<{ readonly window: RawWindow }> {
  const follower = ((await system.leader()) + 1) % system.addresses.length;
  const generator = await GeneratorProcess.start({
    system: system.name,
    route: 'raw',
    work: 'restart',
    sessions: 1,
    servers: [system.addresses[follower] ?? ''],
    prefix: 'restart',
  });
  try {
    await system.stopServer(follower);
    const { window } = await singleWindow(system, generator, async () => {
      const begun = performance.now();
      system.launchServer(follower);
      await generator.order({ type: 'await-node', node: last });
      return { value: (performance.now() - begun) / 1_000, operations: 1 };
    });
    return { window };
  } finally {
    await generator.stop();
  }
}
