import { silentLogger } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import { ExpiryLoop } from '../src/expiry-loop.ts';
import { FencedStore } from '../src/fenced-store.ts';
import { EXPIRY_INTERVAL_MS } from '../src/limits.ts';
import { memoryEngine } from './support/memory-engine.ts';

describe('the removal of expired keys', () => {
  it('goes on for as long as the store serves, and ends with it', async () => {
    const world = new SimWorld({ seed: 1 });
    const { clock } = world.host('kv').runtime;
    const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.setTimer(ms, resolve));
    const counts = await world.complete(
      (async () => {
        const store = await FencedStore.open(memoryEngine(), { clock });
        const loop = new ExpiryLoop(store, { clock, logger: silentLogger });
        const seen: number[] = [];
        for (let round = 0; round < 2; round += 1) {
          const writes = Array.from({ length: 600 }, (_, n) => ({ key: `k${n}`, value: new Uint8Array(1), ttlMs: 10 }));
          await store.write('b', writes, { token: 1 });
          seen.push(store.info('b').keys);
          await pause(2 * EXPIRY_INTERVAL_MS);
          seen.push(store.info('b').keys);
        }
        await loop.stop();
        await store.write('b', [{ key: 'k', value: new Uint8Array(1), ttlMs: 10 }], { token: 1 });
        await pause(3 * EXPIRY_INTERVAL_MS);
        return [...seen, store.info('b').keys];
      })(),
    );
    expect(counts).toEqual([600, 0, 600, 0, 1]);
  });
});
