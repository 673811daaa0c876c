/** What the SDK costs: processor time of a cycle at client and servers, beside that of the same cycle by bare frames. */

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
      const loads = sdkRows(sessions).map(({ work, clientWork, route, target }) => ({
        name: work,
        system,
        route,
        load: route === 'raw' ? 'cycles' : 'exclusive-locks',
        sessions,
        value: ({ processorSeconds, allOperations }: Turn) => (1e6 * processorSeconds) / allOperations,
        measured: (windows: readonly RawWindow[]): void => {
          const own = target === undefined ? {} : { target };
          run.results.put(resultRow({ work, system: 'holdfast', route, unit: 'µs', windows, own }));
          const ofClient = windows.map((window) => ({ ...window, value: window.value * clientShare(window) }));
          run.results.put(
            resultRow({ work: clientWork, system: 'holdfast', route, unit: 'µs', windows: ofClient, own: {} }),
          );
        },
      }));
      await measureByTurns(run, stage, loads);
    } finally {
      await stage.clear();
    }
  }
}

function clientShare({ generatorCores, serverCores }: RawWindow): number {
  return generatorCores / (generatorCores + serverCores);
}
