import { beforeEach, describe, expect, it } from 'vitest';

import { FencedStore } from '../../src/fenced-store.ts';
import { answer, callsOf, KEY } from '../support/http-calls.ts';
import type { HttpCalls } from '../support/http-calls.ts';
import { memoryEngine } from '../support/memory-engine.ts';
import type { MemoryEngine } from '../support/memory-engine.ts';

let engine: MemoryEngine;
let http: HttpCalls;

beforeEach(async () => {
  engine = memoryEngine();
  http = callsOf(await FencedStore.open(engine));
});

describe('a write', () => {
  it('takes a time to live, and says what is left of it', async () => {
    const clock = { wallMs: () => 1_000, monotonicMs: () => now };
    let now = 0;
    const store = await FencedStore.open(engine, { clock });
    http = callsOf(store);
    expect((await http.put(`${KEY}?ttlMs=500`, 'v', 57)).status).toBe(204);
    await http.batch({ writes: [{ op: 'put', key: 'other', value: 'w', ttlMs: 400 }] });
    now = 100;
    const read = await http.send('GET', KEY);
    expect([read.status, read.headers.get('expires-in-ms')]).toEqual([200, '400']);
    expect(await (await http.send('GET', '/v1/buckets/accounts/keys')).json()).toMatchObject({
      keys: [
        { key: '42', expiresInMs: 400 },
        { key: 'other', expiresInMs: 300 },
      ],
    });
    now = 500;
    expect((await http.send('GET', KEY)).status).toBe(404);
    expect((await http.put(KEY, 'v', 57)).status).toBe(204);
    expect((await http.send('GET', KEY)).headers.has('expires-in-ms')).toBe(false);
  });

  it.each(['', '0', '-1', '1.5', 'soon', '9999999999999', '315360000001'])(
    'answers 400 to the time to live %j',
    async (ttl) => {
      expect(await answer(await http.put(`${KEY}?ttlMs=${ttl}`, 'v', 57))).toMatchObject([400, { argument: 'ttlMs' }]);
      expect((await http.send('GET', KEY)).status).toBe(404);
    },
  );

  it.each([
    { op: 'put', key: 'k', value: 'v', ttlMs: '5' },
    { op: 'put', key: 'k', value: 'v', ttlMs: null },
    { op: 'delete', key: 'k', ttlMs: 5 },
  ])('answers 400 to a batch with %j', async (write) => {
    expect((await http.batch({ writes: [write] })).status).toBe(400);
  });
});
