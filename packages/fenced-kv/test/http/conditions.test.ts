import { beforeEach, describe, expect, it } from 'vitest';

import { FencedStore } from '../../src/fenced-store.ts';
import { answer, callsOf, KEY } from '../support/http-calls.ts';
import type { HttpCalls } from '../support/http-calls.ts';
import { memoryEngine } from '../support/memory-engine.ts';

let http: HttpCalls;

beforeEach(async () => {
  http = callsOf(await FencedStore.open(memoryEngine()));
});

describe('a write with a condition', () => {
  it('judges the token before If-Match and If-None-Match', async () => {
    await http.put(KEY, 'value', 57);
    for (const headers of [{ 'if-match': '"999"' }, { 'if-none-match': '*' }]) {
      expect((await answer(await http.put(KEY, 'late', 41, headers)))[1]['code']).toBe('STALE_TOKEN');
      expect((await answer(await http.put(KEY, 'late', undefined, headers)))[1]['code']).toBe('TOKEN_REQUIRED');
      expect((await answer(await http.put(KEY, 'late', 57, headers)))[1]).toMatchObject({
        code: 'PRECONDITION_FAILED',
        revision: 1,
      });
    }
  });

  it('installs a newer token although If-Match fails, so that an older holder writes no more', async () => {
    await http.put(KEY, 'value', 57);
    const [status, body] = await answer(await http.put(KEY, 'mine', 60, { 'if-match': '"999"' }));
    expect([status, body['code']]).toEqual([412, 'PRECONDITION_FAILED']);
    const [late, refusal] = await answer(await http.put(KEY, 'late', 59));
    expect([late, refusal]).toMatchObject([412, { code: 'STALE_TOKEN', presented: 59, highest: 60 }]);
    const batched = await http.batch({ writes: [{ op: 'delete', key: '42', ifRevision: 999 }] }, 61);
    expect((await answer(batched))[1]).toMatchObject({ code: 'PRECONDITION_FAILED', key: '42', revision: 1 });
    expect(await (await http.send('GET', '/v1/buckets/accounts')).json()).toMatchObject({ highest: 61, keys: 1 });
    expect(await (await http.send('GET', KEY)).text()).toBe('value');
  });

  it('obeys If-Match and If-None-Match', async () => {
    const absent = { 'if-none-match': '*' };
    const first = await http.put(KEY, '1', 57, absent);
    expect(first.status).toBe(204);
    const tag = first.headers.get('etag') ?? '';
    expect((await http.put(KEY, '2', 57, absent)).status).toBe(412);
    expect((await http.put(KEY, '2', 57, { 'if-match': `W/${tag}` })).status).toBe(412);
    expect((await http.put(KEY, '2', 57, { 'if-match': `"other", ${tag}` })).status).toBe(204);
    expect((await http.put(KEY, '3', 57, { 'if-match': tag })).status).toBe(412);
    expect((await http.put(KEY, '3', 57, { 'if-match': '*' })).status).toBe(204);
    expect((await http.put(KEY, '4', 57, { 'if-match': 'unquoted' })).status).toBe(400);
    const [, missing] = await answer(await http.put('/v1/buckets/accounts/keys/none', '1', 57, { 'if-match': '*' }));
    expect(missing).toMatchObject({ code: 'PRECONDITION_FAILED', revision: null });
  });
});
