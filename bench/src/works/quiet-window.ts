/** One window of a measurement, and who else used the machine meanwhile. */

import type { WindowResult } from '../generator/closed-loop.ts';
import { isDisturbed, machineTime, secondsOf, secondsOfOthers } from '../machine/processor-time.ts';
import type { RawWindow } from '../report/result-row.ts';

export interface WindowOptions {
  readonly servers: readonly number[];
  readonly generator: number;
  /** The other systems, which stand idle until it is their turn, and their generators. */
  readonly bystanders: readonly number[];
  readonly measure: () => Promise<WindowResult>;
  /** What of the result is the figure. */
  readonly value: (result: WindowResult) => number;
}

export interface MeasuredWindow {
  readonly window: RawWindow;
  readonly result: WindowResult;
}

export async function measureWindow({
  servers,
  generator,
  bystanders,
  measure,
  value,
}: WindowOptions): Promise<MeasuredWindow> {
  const own = new Set([process.pid, generator, ...servers, ...bystanders]);
  const machineBefore = machineTime();
  const serversBefore = secondsOf(servers);
  const generatorBefore = secondsOf([generator]);
  const bystandersBefore = secondsOf(bystanders);
  const begun = performance.now();
  const result = await measure();
  const seconds = (performance.now() - begun) / 1_000;
  const otherSeconds = secondsOfOthers(machineBefore, machineTime(), own);
  return {
    result,
    window: {
      value: value(result),
      operations: result.operations,
      allOperations: result.allOperations,
      seconds: result.seconds,
      generatorCores: (secondsOf([generator]) - generatorBefore) / seconds,
      serverCores: (secondsOf(servers) - serversBefore) / seconds,
      bystanderCores: (secondsOf(bystanders) - bystandersBefore) / seconds,
      otherCores: otherSeconds / seconds,
      disturbed: isDisturbed(otherSeconds, seconds),
    },
  };
}
