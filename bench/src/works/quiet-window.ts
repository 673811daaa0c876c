/** One window of a measurement, repeated when other processes took more of the machine than may be. */

import type { WindowResult } from '../generator/closed-loop.ts';
import { isDisturbed, machineTime, secondsOf, secondsOfOthers } from '../machine/processor-time.ts';
import type { RawWindow } from '../report/result-row.ts';

export interface WindowOptions {
  readonly servers: readonly number[];
  readonly generator: number;
  /** The other systems, which stand idle until it is their turn, and their generators. */
  readonly bystanders: readonly number[];
  readonly repeats: number;
  readonly measure: () => Promise<WindowResult>;
  /** What of the result is the figure. */
  readonly value: (result: WindowResult) => number;
  readonly disturbed?: (otherCores: number) => void;
}

export interface MeasuredWindow {
  readonly window: RawWindow;
  readonly result: WindowResult;
}

/** The first undisturbed window, or the least disturbed one. */
export async function quietWindow(options: WindowOptions): Promise<MeasuredWindow> {
  let best = await measureOnce(options);
  for (let repeat = 0; repeat < options.repeats && best.window.disturbed; repeat += 1) {
    options.disturbed?.(best.window.otherCores);
    const next = await measureOnce(options);
    if (next.window.otherCores < best.window.otherCores) best = next;
  }
  return best;
}

async function measureOnce({ servers, generator, bystanders, measure, value }: WindowOptions): Promise<MeasuredWindow> {
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
