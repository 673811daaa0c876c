import { describe, expect, it } from 'vitest';
import { readAll } from '../../../src/workloads/nodes/read-all.ts';

describe('the last readings of a client', () => {
  it('are of everything, in order, some at once: an hour’s one after another outlast the run', async () => {
    const begun: number[] = [];
    let open = 0;
    let mostOpen = 0;
    const all = Array.from({ length: 50 }, (_, n) => n);
    await readAll(all, async (one) => {
      begun.push(one);
      open += 1;
      mostOpen = Math.max(mostOpen, open);
      await Promise.resolve();
      open -= 1;
    });
    expect(begun).toEqual(all);
    expect(mostOpen).toBe(16);
  });

  it('may be of nothing', async () => {
    await expect(readAll([], () => Promise.reject(new Error('nothing is read')))).resolves.toBeUndefined();
  });
});
