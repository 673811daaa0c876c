import { describe, expect, it } from 'vitest';

import { WriteLoops } from '../../src/fences/loops.ts';

describe('clients that write again and again', () => {
  it('write one after the other each, and are counted', async () => {
    const underWay = new Set<number>();
    let most = 0;
    const loops = new WriteLoops(async (client) => {
      expect(underWay.has(client)).toBe(false);
      underWay.add(client);
      most = Math.max(most, underWay.size);
      await new Promise((resolve) => setTimeout(resolve, 1));
      underWay.delete(client);
    }, 3);
    const { operations, allOperations, p50Ms } = await loops.window(1, 30);
    expect(most).toBe(3);
    expect(operations).toBeGreaterThan(0);
    expect(allOperations).toBeGreaterThanOrEqual(operations);
    expect(p50Ms).toBeGreaterThan(0);
  });

  it('fail the window in which a write fails, with what it failed with', async () => {
    let writes = 0;
    const loops = new WriteLoops(async () => {
      writes += 1;
      await Promise.reject(new Error('the disk is full'));
    }, 2);
    await expect(loops.window(1, 10)).rejects.toThrow('the disk is full');
    // It does not spin.
    expect(writes).toBeLessThan(100);
  });
});
