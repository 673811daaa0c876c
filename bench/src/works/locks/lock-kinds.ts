/**
 * Cycles of every kind of lock through our SDK, beside those of its exclusive lock, and these beside the client libraries of the peers. What a
 * cycle takes is processor time of clients and servers, on which a machine's cycles depend: the time of a window is that of whoever else the
 * machine's host has, too.
 */

import { RE_ENTRIES_EACH } from '../../generator/clients/sdk-lock-kinds.ts';
import { resultRow, type RawWindow } from '../../report/result-row.ts';
import { hasNativeGenerator } from '../../systems/generator-process.ts';
import type { RunningSystem } from '../../systems/system.ts';
import type { BenchRun } from '../bench-run.ts';
import {
  CLIENT_LOCK_ROWS,
  LOCK_KIND_ROWS,
  LOCK_KIND_SESSIONS,
  type ClientLockRow,
  type LockKindRow,
} from '../own-table.ts';
import { Stage } from '../stage.ts';
import { measureByTurns, type Turn, type TurnLoad } from '../turns.ts';

export async function measureLockKinds(run: BenchRun): Promise<void> {
  const candidates = run.systems.filter(({ name }) => name !== 'redis');
  const stage = await Stage.start(run.stageDirectory('lock-kinds'), candidates);
  try {
    const loads: TurnLoad[] = [];
    for (const system of stage.systems.values()) {
      if (system.name === 'holdfast') loads.push(...LOCK_KIND_ROWS.map((row) => ownLoad(run, system, row)));
      else loads.push(...CLIENT_LOCK_ROWS.flatMap((row) => peerLoads(run, system, row)));
    }
    await measureByTurns(run, stage, loads);
  } finally {
    await stage.clear();
  }
}

function ownLoad(run: BenchRun, system: RunningSystem, { kind, work, target }: LockKindRow): TurnLoad {
  const own = target === undefined ? {} : { target };
  return {
    name: work,
    system,
    route: 'client',
    load: kind,
    sessions: LOCK_KIND_SESSIONS,
    ...(kind === 're-entries' ? { operationsEach: RE_ENTRIES_EACH } : {}),
    value: ({ processorSeconds, allOperations }: Turn) => (1e6 * processorSeconds) / allOperations,
    measured: (windows) => {
      run.results.put(resultRow({ work, system: system.name, route: 'client', unit: 'µs', windows, own }));
      const beside = CLIENT_LOCK_ROWS.find((row) => row.kind === kind);
      if (beside === undefined) return;
      const rates = windows.map((window) => ({ ...window, value: window.operations / window.seconds }));
      putRate(run, system, 'client', beside, rates);
    },
  };
}

function peerLoads(run: BenchRun, system: RunningSystem, row: ClientLockRow): TurnLoad[] {
  const routes = [
    ...(run.effort.native && hasNativeGenerator(system.name) && row.native.includes(system.name)
      ? ['native' as const]
      : []),
    ...(row.kind === 'exclusive-locks' ? ['client' as const] : []),
  ];
  return routes.map((route) => ({
    name: `${row.work}: ${system.name}`,
    system,
    route,
    load: row.kind === 'exclusive-locks' ? 'cycles' : row.kind,
    sessions: LOCK_KIND_SESSIONS,
    measured: (windows) => putRate(run, system, route, row, windows),
  }));
}

function putRate(
  run: BenchRun,
  { name: system }: RunningSystem,
  route: 'client' | 'native',
  { work, target }: ClientLockRow,
  windows: readonly RawWindow[],
): void {
  const asked = target === undefined ? {} : { target };
  run.results.put(resultRow({ work, system, route, unit: 'cycles/s', windows, ...asked }));
}
