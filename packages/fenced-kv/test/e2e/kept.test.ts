/** What a kill leaves of large values and times to live, and a stop of those who follow a bucket. */

import { join } from 'node:path';

import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { describe, expect, it } from 'vitest';

import { FencedKv } from '@holdfast/fenced-kv-client';
import { openLmdbEngine } from '../../src/engines/lmdb-engine.ts';
import { serve } from './daemon.ts';
import { eachInDirectory } from './scratch.ts';

const LARGE_BYTES = 3_000_000;

let data: string;

eachInDirectory((directory) => {
  data = join(directory, 'data');
});

function isWhole(value: Uint8Array | undefined): boolean {
  return value?.length === LARGE_BYTES && value.every((byte) => byte === value[0]);
}

/** How many records lie in a space of the data. */
async function countRecords(space: number): Promise<number> {
  const { disk } = nodeRuntime({ logger: silentLogger });
  const engine = await openLmdbEngine(data, { disk });
  const range = { from: Uint8Array.of(space), to: Uint8Array.of(space + 1), limit: 1_000 };
  const found = engine.read((reader) => reader.range(range)).length;
  await engine.close();
  return found;
}

describe('fenced-kvd that is killed while large values arrive', () => {
  it('has each that it has acknowledged, whole, and nothing of the others', async () => {
    const acknowledged = new Map<string, number>();
    for (let round = 1; round <= 2; round += 1) {
      const server = await serve(data);
      const bucket = await new FencedKv(server.url).bucket('b').fencedBy({ token: round });
      let writing = true;
      const writers = Array.from({ length: 3 }, async (_, writer) => {
        for (let n = 1; writing; n += 1) {
          await bucket.put(`k${writer}`, new Uint8Array(LARGE_BYTES).fill(n % 256));
          acknowledged.set(`k${writer}`, (acknowledged.get(`k${writer}`) ?? 0) + 1);
        }
      });
      const ended = Promise.allSettled(writers);
      await expect
        .poll(() => [...acknowledged.values()].reduce((sum, n) => sum + n, 0), { timeout: 60_000 })
        .toBeGreaterThan(round * 6);
      await server.stop('SIGKILL');
      writing = false;
      await ended;
    }
    const server = await serve(data);
    const bucket = await new FencedKv(server.url).bucket('b').fencedBy({ token: 2 });
    for (const key of acknowledged.keys()) expect(isWhole((await bucket.get(key))?.value)).toBe(true);
    const { keys } = await bucket.list();
    for (const { key } of keys) await bucket.delete(key);
    expect(await bucket.info()).toMatchObject({ highest: 2, keys: 0, bytes: 0 });
    await server.stop('SIGTERM');
    await (await serve(data)).stop('SIGTERM'); // a start removes what could not be removed before
    expect([await countRecords(4), await countRecords(5), await countRecords(7)]).toEqual([0, 0, 0]);
  });
});

describe('fenced-kvd that is started again', () => {
  it('has forgotten no time to live, and removes what has expired meanwhile', async () => {
    const first = await serve(data);
    const bucket = await new FencedKv(first.url).bucket('b').fencedBy({ token: 1 });
    await bucket.put('short', 'v', { ttlMs: 1 });
    await bucket.put('long', 'v', { ttlMs: 600_000 });
    await first.stop('SIGKILL');
    const second = await serve(data);
    const again = await new FencedKv(second.url).bucket('b').fencedBy({ token: 1 });
    expect(await again.get('short')).toBeUndefined();
    expect((await again.get('long'))?.expiresInMs).toBeLessThanOrEqual(600_000);
    await expect.poll(async () => (await again.info())?.keys, { timeout: 30_000 }).toBe(1);
    await second.stop('SIGTERM');
  });
});

describe('fenced-kvd that is stopped while a bucket is followed', () => {
  it('ends that at once, and cleanly', async () => {
    const server = await serve(data);
    const bucket = await new FencedKv(server.url).bucket('b').fencedBy({ token: 1 });
    await bucket.put('k', 'v');
    const response = await fetch(`${server.url}/v1/buckets/b/changes`);
    const text = response.text();
    const { exitCode } = await server.stop('SIGTERM');
    expect(exitCode).toBe(0);
    expect(await text).toContain('event: from');
  });
});
