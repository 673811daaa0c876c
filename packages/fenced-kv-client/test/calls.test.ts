import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { describe, expect, it } from 'vitest';

import { FencedKv, FencedKvError, type Fetch } from '../src/index.ts';

const URL_OF_NOBODY = 'http://127.0.0.1:1';

describe('a failure', () => {
  it('to answer in time leaves a write unknown, not a read', async () => {
    const hanging: Fetch = async (_input, init) =>
      await new Promise((_resolve, reject) =>
        init.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error)),
      );
    const bucket = new FencedKv(URL_OF_NOBODY, { fetch: hanging, timeoutMs: 10 }).bucket('b');
    await expect(bucket.put('k', 'v')).rejects.toMatchObject({ code: 'TIMEOUT', retryable: true, indeterminate: true });
    await expect(bucket.get('k')).rejects.toMatchObject({ code: 'TIMEOUT', indeterminate: false });
  });

  it('of an aborted signal is an AbortError before anything is sent', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(new FencedKv(URL_OF_NOBODY).bucket('b').get('k', { signal })).rejects.toMatchObject({
      name: 'AbortError',
      indeterminate: false,
      cause: signal.reason,
    });
  });

  it('of something that is no fenced-kvd is told as such', async () => {
    const subject = new FencedKv(URL_OF_NOBODY, { fetch: async () => new Response('<html>', { status: 502 }) });
    await expect(subject.bucket('b').put('k', 'v')).rejects.toMatchObject({ code: 'PROTOCOL', indeterminate: true });
  });

  it('in the arguments is found before anything is sent', async () => {
    for (const key of ['', '.', '..', '\ud800'])
      await expect(new FencedKv(URL_OF_NOBODY).bucket('b').get(key)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    for (const url of ['127.0.0.1:7400', 'ftp://127.0.0.1', '']) expect(() => new FencedKv(url)).toThrow(FencedKvError);
  });
});

describe('a call', () => {
  it('keeps no memory while the lock goes on being held', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const holder = new AbortController();
    const subject = new FencedKv(URL_OF_NOBODY, {
      fetch: async (_input, { signal: ended }) => {
        ended?.addEventListener('abort', () => undefined, { once: true });
        return new Response(null, { status: 204, headers: { etag: '"1"' } });
      },
    });
    const heapAfter = async (calls: number): Promise<number> => {
      for (let call = 0; call < calls; call += 1) await subject.bucket('b').put('k', 'v', { signal: holder.signal });
      for (let round = 0; round < 5; round += 1) {
        await new Promise((resolve) => setImmediate(resolve));
        collect();
      }
      return process.memoryUsage().heapUsed;
    };
    const before = await heapAfter(500);
    const calls = 3_000;
    const bytesPerCall = ((await heapAfter(calls)) - before) / calls;
    // 1,300 with AbortSignal.timeout and any.
    expect(bytesPerCall).toBeLessThan(400);
  });

  it('among many under one signal makes one listener of it, and ends with it', async () => {
    const stop = new AbortController();
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    const hanging = new FencedKv(URL_OF_NOBODY, {
      fetch: async (_input, { signal: ended }) =>
        await new Promise((_resolve, reject) => {
          ended?.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    });
    const calls = Array.from({ length: 30 }, async () => await hanging.bucket('b').get('k', { signal: stop.signal }));
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    stop.abort(new Error('shutdown'));
    const outcomes = await Promise.allSettled(calls);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && (outcome.reason as Error).name)).toEqual(
      Array.from({ length: 30 }, () => 'AbortError'),
    );
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', warned);
    expect(warnings).toEqual([]);
  });
});
