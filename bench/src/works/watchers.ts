/** One change told to a thousand watchers, until the last of them knows. */

import { resultRow, type RawWindow } from '../report/result-row.ts';
import { GeneratorProcess } from '../systems/generator-process.ts';
import type { BenchRun } from './bench-run.ts';
import { singleWindow } from './single-window.ts';
import { Stage } from './stage.ts';
import { WATCHERS_ROW } from './table.ts';

const WATCHING_SESSIONS = 50;
const WATCHERS_PER_SESSION = 20;

export async function measureWatchers(run: BenchRun): Promise<void> {
  const { work, unit, target } = WATCHERS_ROW;
  for (const candidate of run.systems) {
    if (candidate.name === 'redis') continue;
    const stage = await Stage.start(run.stageDirectory('watchers'), [candidate]);
    try {
      const system = stage.systems.get(candidate.name);
      if (system === undefined) continue;
      const generator = await GeneratorProcess.start({
        system: system.name,
        route: 'raw',
        work: 'watchers',
        sessions: 1 + WATCHING_SESSIONS,
        servers: [system.addresses[await system.leader()] ?? ''],
        prefix: 'watched',
      });
      try {
        const rounds = run.effort.watchRounds;
        const tell = { type: 'watchers', perSession: WATCHERS_PER_SESSION, rounds } as const;
        await generator.order(tell);
        const { window, measured } = await run.repeats.quietest(
          () =>
            singleWindow(system, generator, async () => {
              const { times } = await generator.order<{ times: number[] }>(tell);
              return { value: 0, operations: times.length, times };
            }),
          (cores) => run.say(`${work}: ${system.name}: repeated, others took ${Math.round(100 * cores)} % of a core`),
        );
        const seconds = window.seconds / rounds;
        const windows: RawWindow[] = measured.times.map((value) => ({ ...window, value, operations: 1, seconds }));
        run.results.put(resultRow({ work, unit, system: system.name, route: 'raw', windows, target }));
        run.say(`${work}: ${system.name}: ${rounds} rounds`);
      } finally {
        await generator.stop();
      }
    } finally {
      await stage.clear();
    }
  }
}
