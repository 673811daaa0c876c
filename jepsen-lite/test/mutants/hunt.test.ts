import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { hunt, type Hunt } from '../../src/mutants/hunt.ts';
import type { DetectorName } from '../../src/mutants/mutant.ts';

const worker = fileURLToPath(new URL('fixtures/worker.mjs', import.meta.url));

function huntAmong(ends: string, seeds: readonly number[], attemptLimitMs = 10_000): Promise<Hunt> {
  // The fixture takes its script in the place of the detector's name.
  return hunt({ detector: ends as DetectorName, edits: undefined, seeds }, { worker, attemptLimitMs });
}

describe('a hunt', () => {
  it('ends with the first broken promise, and says after how many attempts', async () => {
    const result = await huntAmong('3:promise 4:promise', [1, 2, 3, 4]);
    expect(result).toMatchObject({ attempts: 3, simulatedMs: 30, unexpected: [], broken: undefined });
    expect(result.caught).toEqual({ seed: 3, kind: 'promise', name: 'one-leader', message: 'one-leader is broken' });
  });

  it('finds nothing where nothing is broken', async () => {
    expect(await huntAmong('', [1, 2])).toMatchObject({
      caught: undefined,
      attempts: 2,
      unexpected: [],
      broken: undefined,
    });
  });

  it('does not take an accident for a catch, and goes on', async () => {
    const result = await huntAmong('1:accident 3:promise', [1, 2, 3]);
    expect(result).toMatchObject({ attempts: 3, unexpected: [{ seed: 1, name: 'TypeError' }] });
    expect(result.caught?.seed).toBe(3);
  });

  it.each(['crash', 'exit'])('goes on behind an attempt that ends the process (%s)', async (end) => {
    const result = await huntAmong(`2:${end} 4:promise`, [1, 2, 3, 4]);
    expect(result).toMatchObject({ attempts: 4, unexpected: [{ seed: 2, name: 'attempt-ended' }] });
    expect(result.caught?.seed).toBe(4);
  });

  it('ends an attempt that never ends, and goes on behind it', async () => {
    const result = await huntAmong('1:hang', [1, 2], 4_000);
    expect(result).toMatchObject({ attempts: 2, caught: undefined, unexpected: [{ seed: 1, name: 'attempt-ended' }] });
    expect(result.unexpected[0]?.message).toContain('took over 4000 ms');
  });

  it('gives a mutant up of which every attempt is an accident', async () => {
    const result = await huntAmong(
      '*:accident',
      Array.from({ length: 50 }, (_, seed) => seed),
    );
    expect(result.attempts).toBe(10);
    expect(result.broken).toContain('every attempt ends unexpectedly, e.g. TypeError');
  });

  it('gives a mutant up that cannot be judged', async () => {
    expect(await huntAmong('1:broken', [1, 2])).toMatchObject({ caught: undefined, broken: 'never loaded: x.js' });
  });

  it('says so when the worker cannot even start', async () => {
    const result = await hunt({ detector: 'churn', edits: undefined, seeds: [1] }, { worker: '/nowhere/worker.mjs' });
    expect(result.broken).toContain('Cannot find module');
  });
});
