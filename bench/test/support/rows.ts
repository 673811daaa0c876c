import type { SystemName } from '../../src/generator/systems.ts';
import { resultRow, type RawWindow, type ResultRow } from '../../src/report/result-row.ts';
import type { Route } from '../../src/systems/generator-process.ts';
import type { OwnTarget, Target } from '../../src/works/table.ts';

/** A window of one second. */
function windowOf(value: number): RawWindow {
  return {
    value,
    operations: value,
    allOperations: value + 1,
    seconds: 1,
    generatorCores: 0.1,
    serverCores: 1,
    bystanderCores: 0,
    otherCores: 0,
    disturbed: false,
  };
}

export function rowOf(system: SystemName, values: readonly number[], options: RowOptions = {}): ResultRow {
  const { route = 'raw', unit = 'cycles/s', target = { must: 2, goal: 3 } } = options;
  return resultRow({ work: 'a work', system, route, unit, windows: values.map(windowOf), target });
}

/** A row of ours that is compared with none of a peer. */
export function ownRowOf(work: string, values: readonly number[], target?: OwnTarget, unit = 'µs'): ResultRow {
  const own = target === undefined ? {} : { target };
  return resultRow({ work, system: 'holdfast', route: 'client', unit, windows: values.map(windowOf), own });
}

interface RowOptions {
  readonly route?: Route;
  readonly unit?: string;
  readonly target?: Target;
}
