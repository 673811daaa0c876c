/** One figure of one system in one work, with the raw windows behind it, as `--json` writes it. */

import type { SystemName } from '../generator/systems.ts';
import { median } from '../statistics.ts';
import type { Route } from '../systems/generator-process.ts';
import type { Progress } from '../systems/system.ts';
import type { OwnTarget, Target } from '../works/table.ts';

export interface RawWindow {
  readonly value: number;
  readonly operations: number;
  /** With those before and after the window, while the generator ran up and stopped. */
  readonly allOperations: number;
  readonly seconds: number;
  /** Cores that the generator took. */
  readonly generatorCores: number;
  /** Cores that the system's servers took. */
  readonly serverCores: number;
  /** Cores that the other systems took, which stood by without a load. */
  readonly bystanderCores: number;
  /** Cores that processes took which are no part of the benchmark. */
  readonly otherCores: number;
  /** Others took too much, and so did they each time that it was repeated. */
  readonly disturbed: boolean;
}

export interface ResultRow {
  readonly work: string;
  readonly system: SystemName;
  readonly route: Route;
  readonly median: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly unit: string;
  /** Ours to the better peer's counted figure, or to that of `baseline`; null for peers, and where there is none. */
  readonly ratio: number | null;
  /** The factor that the ratio must reach; null for peers. Of our own rows without a baseline: the figure, in the unit. */
  readonly target: number | null;
  readonly goal: number | null;
  readonly met: boolean | null;
  /** The one peer that the target is about; null: the better of ZooKeeper and etcd. */
  readonly targetPeer: SystemName | null;
  /** Whether the row stands beside other systems or is about ours alone. */
  readonly comparison: 'peers' | 'own';
  /** The other row of ours that the ratio is about; null for none, and for a comparison with peers. */
  readonly baseline: string | null;
  readonly operations: number;
  readonly seconds: number;
  /** Commit indexes and durable writes are about these: operations outside the windows are among them. */
  readonly allOperations: number;
  readonly commitIndexBefore: number | null;
  readonly commitIndexAfter: number | null;
  readonly durableWrites: number | null;
  /** Why there is no figure, or what is to be known about it. */
  readonly note: string;
  readonly windows: readonly RawWindow[];
}

export interface Measurement {
  readonly work: string;
  readonly system: SystemName;
  readonly route: Route;
  readonly unit: string;
  readonly windows: readonly RawWindow[];
  readonly before?: Progress;
  readonly after?: Progress;
  readonly note?: string;
  readonly target?: Target;
  /** Set for what is about our own system alone; it has no `target` then. */
  readonly own?: { readonly target?: OwnTarget };
}

export function resultRow(measurement: Measurement): ResultRow {
  const { windows, own, before, after } = measurement;
  const target: (Target & OwnTarget) | undefined = measurement.target ?? own?.target;
  const values = windows.map(({ value }) => value);
  const none = values.length === 0;
  const ours = measurement.system === 'holdfast';
  return {
    work: measurement.work,
    system: measurement.system,
    route: measurement.route,
    median: none ? null : median(values),
    min: none ? null : Math.min(...values),
    max: none ? null : Math.max(...values),
    unit: measurement.unit,
    ratio: null,
    target: ours ? (target?.must ?? null) : null,
    goal: ours ? (target?.goal ?? null) : null,
    met: null,
    targetPeer: ours ? (target?.peer ?? null) : null,
    comparison: own === undefined ? 'peers' : 'own',
    baseline: own?.target?.baseline ?? null,
    operations: total(windows.map(({ operations }) => operations)),
    seconds: total(windows.map(({ seconds }) => seconds)),
    allOperations: total(windows.map(({ allOperations }) => allOperations)),
    commitIndexBefore: before?.commitIndex ?? null,
    commitIndexAfter: after?.commitIndex ?? null,
    durableWrites: difference(before?.durableWrites, after?.durableWrites),
    note: measurement.note ?? '',
    windows,
  };
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function difference(before: number | null | undefined, after: number | null | undefined): number | null {
  return typeof before === 'number' && typeof after === 'number' ? after - before : null;
}
