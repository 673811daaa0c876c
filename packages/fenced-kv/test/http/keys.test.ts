import { beforeEach, describe, expect, it } from 'vitest';

import { FencedStore } from '../../src/fenced-store.ts';
import { MAX_KEY_BYTES, MAX_VALUE_BYTES } from '../../src/limits.ts';
import { answer, callsOf, KEY } from '../support/http-calls.ts';
import type { HttpCalls } from '../support/http-calls.ts';
import { memoryEngine } from '../support/memory-engine.ts';

let http: HttpCalls;

beforeEach(async () => {
  http = callsOf(await FencedStore.open(memoryEngine()));
});

describe('PUT of a key', () => {
  it('answers 204 with the revision, and the value can be read', async () => {
    const written = await http.put(KEY, 'value', 41);
    expect(written.status).toBe(204);
    const read = await http.send('GET', KEY);
    expect(read.status).toBe(200);
    expect(await read.text()).toBe('value');
    expect(read.headers.get('etag')).toBe(written.headers.get('etag'));
    expect(read.headers.get('content-type')).toBe('application/octet-stream');
  });

  it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'application/json'])(
    'answers 415 to a body of type %s',
    async (type) => {
      const headers = { 'fencing-token': '57', ...(type === undefined ? {} : { 'content-type': type }) };
      const body = new TextEncoder().encode('v'); // bytes, so that fetch declares no type by itself
      const [status, answered] = await answer(await http.send('PUT', KEY, headers, body));
      expect([status, answered['code']]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    },
  );

  it('answers 413 to a value beyond the limit, with and without a declared length', async () => {
    const value = 'x'.repeat(MAX_VALUE_BYTES + 1);
    for (const headers of [{}, { 'content-length': String(value.length) }]) {
      const [status, body] = await answer(await http.put(KEY, value, 57, headers));
      expect(status).toBe(413);
      expect(body).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: MAX_VALUE_BYTES });
    }
    expect((await http.put(KEY, 'x'.repeat(MAX_VALUE_BYTES), 57)).status).toBe(204);
    expect((await http.put(`/v1/buckets/accounts/keys/${'k'.repeat(MAX_KEY_BYTES + 1)}`, 'v', 57)).status).toBe(413);
  });

  it('writes an empty value', async () => {
    expect((await http.put(KEY, '', 57)).status).toBe(204);
    const read = await http.send('GET', KEY);
    expect([read.status, (await read.arrayBuffer()).byteLength]).toEqual([200, 0]);
  });
});

describe('the key in a path', () => {
  it.each(['a/b', 'é 😀', '%', 'a?b#c', '...', 'a..', '\u0000'])('%j is itself after percent-encoding', async (key) => {
    expect((await http.put(`/v1/buckets/accounts/keys/${encodeURIComponent(key)}`, 'v', 57)).status).toBe(204);
    const { keys } = (await (await http.send('GET', '/v1/buckets/accounts/keys')).json()) as {
      keys: { key: string }[];
    };
    expect(keys.map((found) => found.key)).toEqual([key]);
  });

  it.each(['%ff', '%', 'a/b', ''])('%j is refused', async (raw) => {
    const [status, body] = await answer(await http.put(`/v1/buckets/accounts/keys/${raw}`, 'v', 57));
    expect([status, body['code']]).toEqual([400, 'INVALID_ARGUMENT']);
  });

  it.each(['-b', 'a%2Fb', 'a%00', '%20'])('the bucket %j is refused', async (bucket) => {
    expect((await http.put(`/v1/buckets/${bucket}/keys/k`, 'v', 57)).status).toBe(400);
    expect((await http.send('GET', `/v1/buckets/${bucket}/keys/k`)).status).toBe(400);
  });
});

describe('DELETE of a key', () => {
  it('answers 204 whether the key was there or not, under the fence', async () => {
    await http.put(KEY, 'value', 57);
    expect((await http.send('DELETE', KEY, { 'fencing-token': '41' })).status).toBe(412);
    expect((await http.send('DELETE', KEY)).status).toBe(428);
    expect((await http.send('DELETE', KEY, { 'fencing-token': '57', 'if-match': '"999"' })).status).toBe(412);
    expect((await http.send('DELETE', KEY, { 'fencing-token': '57' })).status).toBe(204);
    expect((await http.send('DELETE', KEY, { 'fencing-token': '58' })).status).toBe(204);
    const [status, body] = await answer(await http.send('GET', KEY));
    expect([status, body['code']]).toEqual([404, 'KEY_NOT_FOUND']);
    expect(await (await http.send('GET', '/v1/buckets/accounts')).json()).toMatchObject({
      highest: 58,
      keys: 0,
      bytes: 0,
    });
  });
});

describe('GET of a key', () => {
  it('with a token is 412 where it is stale and 428 where it is not installed, and never installs', async () => {
    await http.put(KEY, 'value', 57);
    expect(await answer(await http.send('GET', KEY, { 'fencing-token': '41' }))).toMatchObject([
      412,
      { code: 'STALE_TOKEN', presented: 41, highest: 57 },
    ]);
    const early = await http.send('GET', KEY, { 'fencing-token': '60' });
    expect(await answer(early)).toMatchObject([428, { code: 'TOKEN_NOT_INSTALLED', presented: 60, highest: 57 }]);
    expect((await http.send('GET', KEY, { 'fencing-token': '57' })).status).toBe(200);
    expect((await http.send('GET', '/v1/buckets/accounts/keys', { 'fencing-token': '60' })).status).toBe(428);
  });

  it('answers 404 where the bucket does not exist', async () => {
    for (const path of [KEY, '/v1/buckets/accounts/keys', '/v1/buckets/accounts']) {
      expect(await answer(await http.send('GET', path))).toMatchObject([404, { code: 'BUCKET_NOT_FOUND' }]);
    }
  });

  it('answers 304 where the reader has the revision already', async () => {
    const tag = (await http.put(KEY, 'value', 57)).headers.get('etag') ?? '';
    expect((await http.send('GET', KEY, { 'if-none-match': `W/${tag}` })).status).toBe(304);
    expect((await http.send('GET', KEY, { 'if-none-match': '"999"' })).status).toBe(200);
    expect((await http.send('GET', KEY, { 'if-match': '"999"' })).status).toBe(412);
  });

  it('has a HEAD without a body', async () => {
    await http.put(KEY, 'value', 57);
    const head = await http.send('HEAD', KEY);
    expect([head.status, await head.text()]).toEqual([200, '']);
  });
});

describe('GET of the keys', () => {
  it('lists with prefix, after, limit and next', async () => {
    for (const key of ['a', 'b1', 'b2', 'b3', 'c']) await http.put(`/v1/buckets/accounts/keys/${key}`, key, 57);
    const first = await http.send('GET', '/v1/buckets/accounts/keys?prefix=b&limit=2');
    const entry = (key: string, revision: number): object => ({ key, revision, bytes: key.length });
    expect(await first.json()).toEqual({ bucket: 'accounts', keys: [entry('b1', 2), entry('b2', 3)], next: 'b2' });
    const second = await http.send('GET', '/v1/buckets/accounts/keys?prefix=b&limit=2&after=b2');
    expect(await second.json()).toEqual({ bucket: 'accounts', keys: [entry('b3', 4)], next: null });
  });

  it.each(['0', '1001', '-1', 'x', '1.5'])('answers 400 to the limit %s', async (limit) => {
    await http.install(57);
    expect((await http.send('GET', `/v1/buckets/accounts/keys?limit=${limit}`)).status).toBe(400);
  });
});
