import { describe, expect, it } from 'vitest';

import { warmUp } from '../../src/works/loads.ts';

const NO_LATENCIES = { p50Ms: null, p99Ms: null };

/** A system that does so many operations a slice. */
function systemOf(operations: number): { slices: number[]; window(rampMs: number, windowMs: number): Promise<Done> } {
  const slices: number[] = [];
  return {
    slices,
    window: (_rampMs, windowMs) => {
      slices.push(windowMs);
      return Promise.resolve({ operations, allOperations: operations, seconds: windowMs / 1_000, ...NO_LATENCIES });
    },
  };
}

type Done = Awaited<ReturnType<Parameters<typeof warmUp>[0][number]['window']>>;

describe('warming up', () => {
  it.each([
    ['a fast system takes one slice', 40_000, 1],
    ['a slower one takes slices until it has done enough', 6_000, 3],
    ['a slow one ends after the last slice', 100, 4],
  ])('%s', async (_what, operations, slices) => {
    const system = systemOf(operations);
    await warmUp([system], { sliceMs: 5_000, operations: 15_000, slices: 4 });
    expect(system.slices).toEqual(Array.from({ length: slices }, () => 5_000));
  });

  it('goes round, and keeps the fast ones at work until the slowest has done enough', async () => {
    const turns: string[] = [];
    const [fast, slow] = [systemOf(40_000), systemOf(6_000)];
    const noting = (name: string, system: ReturnType<typeof systemOf>): ReturnType<typeof systemOf> => ({
      ...system,
      window: (rampMs, windowMs) => {
        turns.push(name);
        return system.window(rampMs, windowMs);
      },
    });
    await warmUp([noting('fast', fast), noting('slow', slow)], { sliceMs: 5_000, operations: 15_000, slices: 4 });
    expect(turns).toEqual(['fast', 'slow', 'fast', 'slow', 'fast', 'slow']);
  });
});
