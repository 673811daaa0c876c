/** Something measured once, as a window: what it took, and who else used the machine meanwhile. */

import { isDisturbed, machineTime, secondsOf, secondsOfOthers } from '../machine/processor-time.ts';
import type { RawWindow } from '../report/result-row.ts';
import type { GeneratorProcess } from '../systems/generator-process.ts';
import type { RunningSystem } from '../systems/system.ts';

export interface SingleMeasurement {
  readonly value: number;
  readonly operations: number;
}

export async function singleWindow<T extends SingleMeasurement>(
  system: RunningSystem,
  generator: GeneratorProcess | undefined,
  measure: () => Promise<T>,
  /** Other processes that are part of the measurement. */
  clients: readonly number[] = [],
): Promise<{ readonly window: RawWindow; readonly measured: T }> {
  const generators = generator === undefined ? [] : [generator.pid];
  const own = new Set([process.pid, ...generators, ...clients, ...system.pids()]);
  const before = machineTime();
  const serversBefore = secondsOf(system.pids());
  const generatorBefore = secondsOf(generators);
  const begun = performance.now();
  const measured = await measure();
  const seconds = (performance.now() - begun) / 1_000;
  for (const pid of system.pids()) own.add(pid);
  const otherSeconds = secondsOfOthers(before, machineTime(), own);
  return {
    measured,
    window: {
      value: measured.value,
      operations: measured.operations,
      allOperations: measured.operations,
      seconds,
      generatorCores: (secondsOf(generators) - generatorBefore) / seconds,
      serverCores: Math.max(0, secondsOf(system.pids()) - serversBefore) / seconds,
      bystanderCores: 0,
      otherCores: otherSeconds / seconds,
      disturbed: isDisturbed(otherSeconds, seconds),
    },
  };
}
