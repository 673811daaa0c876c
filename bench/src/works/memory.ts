/** Resident memory of the leader while many sessions keep many ephemeral nodes. */

import { residentMiB } from '../machine/resident-memory.ts';
import { resultRow, type RawWindow } from '../report/result-row.ts';
import { GeneratorProcess } from '../systems/generator-process.ts';
import type { BenchRun } from './bench-run.ts';
import { singleWindow } from './single-window.ts';
import { Stage } from './stage.ts';
import { memoryRow } from './table.ts';

export async function measureMemory(run: BenchRun): Promise<void> {
  const { count, sessions, collectMs, looks, lookEveryMs } = run.effort.ephemerals;
  const { work, unit, target } = memoryRow(count, sessions);
  for (const candidate of run.systems) {
    if (candidate.name === 'redis') continue;
    const stage = await Stage.start(run.stageDirectory('memory'), [candidate]);
    try {
      const system = stage.systems.get(candidate.name);
      if (system === undefined) continue;
      const leader = await system.leader();
      const generator = await GeneratorProcess.start({
        system: system.name,
        route: 'raw',
        work: 'memory',
        sessions,
        servers: [system.addresses[leader] ?? ''],
        prefix: 'memory',
      });
      try {
        const before = await system.progress();
        await generator.order({ type: 'ephemerals', count });
        await pause(collectMs);
        const windows: RawWindow[] = [];
        for (let look = 0; look < looks; look += 1) {
          const { window } = await singleWindow(system, generator, async () => {
            await pause(lookEveryMs);
            return { value: residentMiB(system.pid(leader)), operations: 0 };
          });
          windows.push(window);
        }
        const after = await system.progress();
        const row = resultRow({ work, unit, system: system.name, route: 'raw', windows, before, after, target });
        run.results.put(row);
        run.say(`${work}: ${system.name}: ${Math.round(row.median ?? 0)} MiB`);
      } finally {
        await generator.stop();
      }
    } finally {
      await stage.clear();
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
