/** What the SDK costs the process of a client: processor time of a cycle, beside that of the same cycle by bare frames. */

import { resultRow, type RawWindow } from '../../report/result-row.ts';
import type { BenchRun } from '../bench-run.ts';
import { SDK_SESSIONS, sdkRows } from '../own-table.ts';
import { Stage } from '../stage.ts';
import { measureByTurns, type Turn } from '../turns.ts';

export async function measureSdk(run: BenchRun): Promise<void> {
  const candidates = run.systems.filter(({ name }) => name === 'holdfast');
  for (const sessions of SDK_SESSIONS) {
    const stage = await Stage.start(run.stageDirectory('sdk'), candidates);
    try {
      const system = stage.systems.get('holdfast');
      if (system === undefined) continue;
      const loads = sdkRows(sessions).map(({ work, route, target }) => ({
        name: work,
        system,
        route,
        load: route === 'raw' ? 'cycles' : 'exclusive-locks',
        sessions,
        value: ({ clientSeconds, allOperations }: Turn) => (1e6 * clientSeconds) / allOperations,
        measured: (windows: readonly RawWindow[]): void => {
          const own = target === undefined ? {} : { target };
          run.results.put(resultRow({ work, system: 'holdfast', route, unit: 'µs', windows, own }));
        },
      }));
      await measureByTurns(run, stage, loads);
    } finally {
      await stage.clear();
    }
  }
}
