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

describe('a request that may come from a web page', () => {
  it('is refused when it carries an Origin', async () => {
    for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:7400']) {
      expect(await answer(await http.put(KEY, 'value', 57, { origin }))).toMatchObject([
        403,
        { code: 'ORIGIN_REFUSED' },
      ]);
    }
    expect((await http.send('GET', '/health', { origin: 'http://evil.example' })).status).toBe(403);
    for (const site of ['cross-site', 'same-site']) {
      expect(await answer(await http.send('GET', '/health', { 'sec-fetch-site': site }))).toMatchObject([
        403,
        { code: 'ORIGIN_REFUSED' },
      ]);
    }
    for (const site of ['none', 'same-origin']) {
      expect((await http.send('GET', '/health', { 'sec-fetch-site': site })).status).toBe(200);
    }
  });

  it('is refused when it names a foreign host', async () => {
    expect(await answer(await http.send('GET', '/health', { host: 'evil.example:7400' }))).toMatchObject([
      403,
      { code: 'HOST_REFUSED' },
    ]);
    expect((await http.send('GET', '/health', { host: 'localhost:7400' })).status).toBe(200);
  });
});

describe('anything else', () => {
  it('is 404 or 405 in JSON', async () => {
    expect(await answer(await http.send('GET', '/v2'))).toMatchObject([404, { code: 'NOT_FOUND' }]);
    for (const [method, path, allow] of [
      ['POST', KEY, 'GET, PUT, DELETE'],
      ['DELETE', '/v1/buckets/accounts', 'GET, PUT'],
      ['GET', '/v1/buckets/accounts/fence', 'POST'],
      ['GET', '/v1/buckets/accounts/batch', 'POST'],
      ['PUT', '/v1/buckets/accounts/keys', 'GET'],
    ] as const) {
      const response = await http.send(method, path);
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
      expect(await response.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
    }
  });
});

describe('a server whose disk failed', () => {
  it('says of each write whether it may have happened, and is not healthy', async () => {
    engine.failNext();
    expect(await answer(await http.put(KEY, 'value', 57))).toMatchObject([
      503,
      { code: 'DISK_ERROR', indeterminate: true },
    ]);
    expect(await answer(await http.put(KEY, 'value', 57))).toMatchObject([
      503,
      { code: 'DISK_ERROR', indeterminate: false },
    ]);
    expect((await http.send('GET', '/health')).status).toBe(503);
  });
});
