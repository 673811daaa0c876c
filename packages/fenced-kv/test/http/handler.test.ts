import { silentLogger } from '@holdfast/runtime';
import { beforeEach, describe, expect, it } from 'vitest';

import { AuthorityError } from '../../src/confirmation.ts';
import type { LockLook } from '../../src/confirmation.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { createHttpHandler } from '../../src/http/handler.ts';
import { REFUSAL_STATUS } from '../../src/http/status.ts';
import type { HttpHandler } from '../../src/http/handler.ts';
import { hostPolicy } from '../../src/http/guard.ts';
import { MAX_JSON_BODY_BYTES, MAX_KEY_BYTES, MAX_TOKEN_JUMP, MAX_VALUE_BYTES } from '../../src/limits.ts';
import { memoryEngine } from '../support/memory-engine.ts';
import type { MemoryEngine } from '../support/memory-engine.ts';

const OCTETS = { 'content-type': 'application/octet-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };
const KEY = '/v1/buckets/accounts/keys/42';

let engine: MemoryEngine;
let handler: HttpHandler;

beforeEach(async () => {
  engine = memoryEngine();
  const store = await FencedStore.open(engine);
  handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
});

async function send(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string | Uint8Array<ArrayBuffer>,
): Promise<Response> {
  return await handler(new Request(`http://127.0.0.1:7400${path}`, { method, headers, body: body ?? null }));
}

async function put(
  path: string,
  value: string,
  token?: number | string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const fencing: Record<string, string> = token === undefined ? {} : { 'fencing-token': String(token) };
  return await send('PUT', path, { ...OCTETS, ...fencing, ...headers }, value);
}

async function install(token: unknown): Promise<Response> {
  return await send('POST', '/v1/buckets/accounts/fence', JSON_TYPE, JSON.stringify({ token }));
}

async function batch(body: unknown, token = 57): Promise<Response> {
  return await send(
    'POST',
    '/v1/buckets/accounts/batch',
    { ...JSON_TYPE, 'fencing-token': String(token) },
    JSON.stringify(body),
  );
}

/** Status and body of an answer that carries JSON. */
async function answer(response: Response): Promise<[number, Record<string, unknown>]> {
  return [response.status, (await response.json()) as Record<string, unknown>];
}

describe('a bucket that is bound to a lock', () => {
  const bucket = '/v1/buckets/accounts';
  let look: () => LockLook;

  beforeEach(async () => {
    const store = await FencedStore.open(engine, { authority: { look: async () => look() } });
    handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
    look = () => ({ held: { lowest: 57, highest: 57 }, index: 60 });
  });

  const create = async (body: unknown): Promise<[number, Record<string, unknown>]> =>
    await answer(await send('PUT', bucket, JSON_TYPE, JSON.stringify(body)));

  it('is made with its lock, and says so', async () => {
    const made = { bucket: 'accounts', tokens: 'required', lock: 'jobs' };
    expect(await create({ lock: 'jobs' })).toEqual([201, made]);
    expect(await create({ tokens: 'required', lock: 'jobs' })).toEqual([200, made]);
    expect((await create({ tokens: 'required' }))[1]).toMatchObject({ code: 'BUCKET_EXISTS', lock: 'jobs' });
    expect((await answer(await send('GET', bucket)))[1]).toMatchObject(made);
  });

  it.each([{}, { lock: 5 }, { lock: null }, { lock: '' }, { tokens: 'never' }, { lock: 'a', locks: 'b' }])(
    'is not made by %j',
    async (body) => {
      expect((await create(body))[1]).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect((await send('GET', bucket)).status).toBe(404);
    },
  );

  it('answers 409 to a token that the lock never gave, and to a floor that fences off who holds it', async () => {
    await create({ lock: 'jobs' });
    expect(await answer(await install(2 ** 53 - 1))).toMatchObject([
      409,
      { code: 'TOKEN_NOT_GRANTED', lock: 'jobs', presented: 2 ** 53 - 1, newest: 57 },
    ]);
    look = () => ({ held: { lowest: 41, highest: 57 }, index: 60 });
    expect(await answer(await put(KEY, 'v', 57))).toMatchObject([
      409,
      { code: 'FLOOR_TOO_HIGH', presented: 57, lowest: 41 },
    ]);
    expect((await put(KEY, 'v', 57, { 'fencing-floor': '41' })).status).toBe(204);
  });

  it('answers 503 with a time to come again while the ensemble cannot be reached', async () => {
    await create({ lock: 'jobs' });
    await put(KEY, 'v', 57);
    look = () => {
      throw new AuthorityError('nobody answers');
    };
    expect((await put(KEY, 'w', 57)).status).toBe(204);
    const refused = await put(KEY, 'x', 60);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await answer(refused)).toMatchObject([503, { code: 'ENSEMBLE_UNREACHABLE', indeterminate: false }]);
  });

  it('answers 409 to a new token of a bucket without a lock, where every token is to be confirmed', async () => {
    const store = await FencedStore.open(engine, { demandLocks: true });
    handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
    expect(await answer(await put(KEY, 'v', 57))).toMatchObject([409, { code: 'BUCKET_NOT_BOUND' }]);
  });
});

describe('the status of a refusal', () => {
  it('is none that clients and proxies repeat by themselves, least of all that of a stale token', () => {
    // What retry policies have by default: timeouts, rate limits, and failures of the server.
    const repeated = (status: number): boolean => [408, 425, 429].includes(status) || status >= 500;
    expect(Object.entries(REFUSAL_STATUS).filter(([, status]) => repeated(status))).toEqual([]);
    // And what some have among the client's errors, to be repeated as a conflict that passes.
    expect(REFUSAL_STATUS.STALE_TOKEN).not.toBe(409);
  });

  it('of a stale token comes without a time to come again', async () => {
    await put(KEY, 'v', 57);
    const refused = await put(KEY, 'late', 41);
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([412, false]);
  });
});

describe('PUT of a key', () => {
  it('answers 204 with the revision, and the value can be read', async () => {
    const written = await put(KEY, 'value', 41);
    expect(written.status).toBe(204);
    const read = await send('GET', KEY);
    expect(read.status).toBe(200);
    expect(await read.text()).toBe('value');
    expect(read.headers.get('etag')).toBe(written.headers.get('etag'));
    expect(read.headers.get('content-type')).toBe('application/octet-stream');
  });

  it('with a higher token installs it; with a stale one answers 412 and changes nothing', async () => {
    await put(KEY, 'old', 41);
    await put(KEY, 'new', 57);
    const [status, body] = await answer(await put(KEY, 'late', 41));
    expect(status).toBe(412);
    expect(body).toMatchObject({ code: 'STALE_TOKEN', presented: 41, highest: 57 });
    expect(await (await send('GET', KEY)).text()).toBe('new');
  });

  it('without a token answers 428 where the bucket demands one', async () => {
    const [status, body] = await answer(await put(KEY, 'value'));
    expect([status, body['code']]).toEqual([428, 'TOKEN_REQUIRED']);
  });

  it.each(['', 'x', '-1', '0', '1.5', '0x10', '9007199254740992', '00000000000000001', '41, 57'])(
    'answers 400 to the token %j',
    async (token) => {
      const [status, body] = await answer(await put(KEY, 'v', token));
      expect([status, body['code']]).toEqual([400, 'INVALID_ARGUMENT']);
    },
  );

  it('takes a time to live, and says what is left of it', async () => {
    const clock = { wallMs: () => 1_000, monotonicMs: () => now };
    let now = 0;
    const store = await FencedStore.open(engine, { clock });
    handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
    expect((await put(`${KEY}?ttlMs=500`, 'v', 57)).status).toBe(204);
    await batch({ writes: [{ op: 'put', key: 'other', value: 'w', ttlMs: 400 }] });
    now = 100;
    const read = await send('GET', KEY);
    expect([read.status, read.headers.get('expires-in-ms')]).toEqual([200, '400']);
    expect(await (await send('GET', '/v1/buckets/accounts/keys')).json()).toMatchObject({
      keys: [
        { key: '42', expiresInMs: 400 },
        { key: 'other', expiresInMs: 300 },
      ],
    });
    now = 500;
    expect((await send('GET', KEY)).status).toBe(404);
    expect((await put(KEY, 'v', 57)).status).toBe(204);
    expect((await send('GET', KEY)).headers.has('expires-in-ms')).toBe(false);
  });

  it.each(['', '0', '-1', '1.5', 'soon', '9999999999999', '315360000001'])(
    'answers 400 to the time to live %j',
    async (ttl) => {
      expect(await answer(await put(`${KEY}?ttlMs=${ttl}`, 'v', 57))).toMatchObject([400, { argument: 'ttlMs' }]);
      expect((await send('GET', KEY)).status).toBe(404);
    },
  );

  it.each([
    { op: 'put', key: 'k', value: 'v', ttlMs: '5' },
    { op: 'put', key: 'k', value: 'v', ttlMs: null },
    { op: 'delete', key: 'k', ttlMs: 5 },
  ])('answers 400 to a batch with %j', async (write) => {
    expect((await batch({ writes: [write] })).status).toBe(400);
  });

  it('takes the floor of a holder that shares its lock beside the token', async () => {
    expect((await put(KEY, 'a', 57, { 'fencing-floor': '0000000000000041' })).status).toBe(204);
    expect((await put(KEY, 'b', 41, { 'fencing-floor': '41' })).status).toBe(204);
    expect((await send('GET', KEY, { 'fencing-token': '57', 'fencing-floor': '41' })).status).toBe(200);
    expect((await send('GET', KEY, { 'fencing-token': '57' })).status).toBe(428);
    const raised = JSON.stringify({ token: 60, floor: 57 });
    const installed = await send('POST', '/v1/buckets/accounts/fence', JSON_TYPE, raised);
    expect(await installed.json()).toEqual({ highest: 57, previous: 41 });
    expect((await put(KEY, 'late', 41, { 'fencing-floor': '41' })).status).toBe(412);
  });

  it.each([
    ['57', '58'],
    ['57', ''],
    ['57', '-1'],
    ['57', '1.5'],
    ['57', '9007199254740992'],
    [undefined, '41'],
  ])('answers 400 to the token %j with the floor %j', async (token, floor) => {
    const [status, body] = await answer(await put(KEY, 'v', token, { 'fencing-floor': floor }));
    expect([status, body['code'], body['argument']]).toEqual([400, 'INVALID_ARGUMENT', 'floor']);
  });

  it.each([{ token: 57, floor: 58 }, { token: 57, floor: null }, { token: 57, floor: [1] }, { floor: 41 }])(
    'answers 400 to an install of %j',
    async (body) => {
      const sent = await send('POST', '/v1/buckets/accounts/fence', JSON_TYPE, JSON.stringify(body));
      expect((await answer(sent))[1]).toMatchObject({ code: 'INVALID_ARGUMENT' });
    },
  );

  it('takes the printed form of a token with its leading zeros', async () => {
    expect((await put(KEY, 'value', '0000000000000057')).status).toBe(204);
    expect(await (await send('GET', '/v1/buckets/accounts')).json()).toMatchObject({ highest: 57 });
  });

  it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded', 'application/json'])(
    'answers 415 to a body of type %s',
    async (type) => {
      const headers = { 'fencing-token': '57', ...(type === undefined ? {} : { 'content-type': type }) };
      const body = new TextEncoder().encode('v'); // bytes, so that fetch declares no type by itself
      const [status, answered] = await answer(await send('PUT', KEY, headers, body));
      expect([status, answered['code']]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    },
  );

  it('answers 413 to a value beyond the limit, with and without a declared length', async () => {
    const value = 'x'.repeat(MAX_VALUE_BYTES + 1);
    for (const headers of [{}, { 'content-length': String(value.length) }]) {
      const [status, body] = await answer(await put(KEY, value, 57, headers));
      expect(status).toBe(413);
      expect(body).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: MAX_VALUE_BYTES });
    }
    expect((await put(KEY, 'x'.repeat(MAX_VALUE_BYTES), 57)).status).toBe(204);
    expect((await put(`/v1/buckets/accounts/keys/${'k'.repeat(MAX_KEY_BYTES + 1)}`, 'v', 57)).status).toBe(413);
  });

  it('writes an empty value', async () => {
    expect((await put(KEY, '', 57)).status).toBe(204);
    const read = await send('GET', KEY);
    expect([read.status, (await read.arrayBuffer()).byteLength]).toEqual([200, 0]);
  });

  it('judges the token before If-Match and If-None-Match', async () => {
    await put(KEY, 'value', 57);
    for (const headers of [{ 'if-match': '"999"' }, { 'if-none-match': '*' }]) {
      expect((await answer(await put(KEY, 'late', 41, headers)))[1]['code']).toBe('STALE_TOKEN');
      expect((await answer(await put(KEY, 'late', undefined, headers)))[1]['code']).toBe('TOKEN_REQUIRED');
      expect((await answer(await put(KEY, 'late', 57, headers)))[1]).toMatchObject({
        code: 'PRECONDITION_FAILED',
        revision: 1,
      });
    }
  });

  it('installs a newer token although If-Match fails, so that an older holder writes no more', async () => {
    await put(KEY, 'value', 57);
    const [status, body] = await answer(await put(KEY, 'mine', 60, { 'if-match': '"999"' }));
    expect([status, body['code']]).toEqual([412, 'PRECONDITION_FAILED']);
    const [late, refusal] = await answer(await put(KEY, 'late', 59));
    expect([late, refusal]).toMatchObject([412, { code: 'STALE_TOKEN', presented: 59, highest: 60 }]);
    const batched = await batch({ writes: [{ op: 'delete', key: '42', ifRevision: 999 }] }, 61);
    expect((await answer(batched))[1]).toMatchObject({ code: 'PRECONDITION_FAILED', key: '42', revision: 1 });
    expect(await (await send('GET', '/v1/buckets/accounts')).json()).toMatchObject({ highest: 61, keys: 1 });
    expect(await (await send('GET', KEY)).text()).toBe('value');
  });

  it('answers 409 to a token far above the highest, with what to do, and lets the next holder write', async () => {
    await put(KEY, 'value', 57);
    const [status, body] = await answer(await install(Number.MAX_SAFE_INTEGER));
    expect([status, body]).toMatchObject([409, { code: 'TOKEN_JUMP_REFUSED', highest: 57, limit: MAX_TOKEN_JUMP }]);
    expect(body['message']).toContain('--allow-token-jumps');
    expect((await put(KEY, 'next', 58)).status).toBe(204);
  });

  it('obeys If-Match and If-None-Match', async () => {
    const absent = { 'if-none-match': '*' };
    const first = await put(KEY, '1', 57, absent);
    expect(first.status).toBe(204);
    const tag = first.headers.get('etag') ?? '';
    expect((await put(KEY, '2', 57, absent)).status).toBe(412);
    expect((await put(KEY, '2', 57, { 'if-match': `W/${tag}` })).status).toBe(412);
    expect((await put(KEY, '2', 57, { 'if-match': `"other", ${tag}` })).status).toBe(204);
    expect((await put(KEY, '3', 57, { 'if-match': tag })).status).toBe(412);
    expect((await put(KEY, '3', 57, { 'if-match': '*' })).status).toBe(204);
    expect((await put(KEY, '4', 57, { 'if-match': 'unquoted' })).status).toBe(400);
    const [, missing] = await answer(await put('/v1/buckets/accounts/keys/none', '1', 57, { 'if-match': '*' }));
    expect(missing).toMatchObject({ code: 'PRECONDITION_FAILED', revision: null });
  });
});

describe('the key in a path', () => {
  it.each(['a/b', 'é 😀', '%', 'a?b#c', '...', 'a..', '\u0000'])('%j is itself after percent-encoding', async (key) => {
    expect((await put(`/v1/buckets/accounts/keys/${encodeURIComponent(key)}`, 'v', 57)).status).toBe(204);
    const { keys } = (await (await send('GET', '/v1/buckets/accounts/keys')).json()) as { keys: { key: string }[] };
    expect(keys.map((found) => found.key)).toEqual([key]);
  });

  it.each(['%ff', '%', 'a/b', ''])('%j is refused', async (raw) => {
    const [status, body] = await answer(await put(`/v1/buckets/accounts/keys/${raw}`, 'v', 57));
    expect([status, body['code']]).toEqual([400, 'INVALID_ARGUMENT']);
  });

  it.each(['-b', 'a%2Fb', 'a%00', '%20'])('the bucket %j is refused', async (bucket) => {
    expect((await put(`/v1/buckets/${bucket}/keys/k`, 'v', 57)).status).toBe(400);
    expect((await send('GET', `/v1/buckets/${bucket}/keys/k`)).status).toBe(400);
  });
});

describe('DELETE of a key', () => {
  it('answers 204 whether the key was there or not, under the fence', async () => {
    await put(KEY, 'value', 57);
    expect((await send('DELETE', KEY, { 'fencing-token': '41' })).status).toBe(412);
    expect((await send('DELETE', KEY)).status).toBe(428);
    expect((await send('DELETE', KEY, { 'fencing-token': '57', 'if-match': '"999"' })).status).toBe(412);
    expect((await send('DELETE', KEY, { 'fencing-token': '57' })).status).toBe(204);
    expect((await send('DELETE', KEY, { 'fencing-token': '58' })).status).toBe(204);
    const [status, body] = await answer(await send('GET', KEY));
    expect([status, body['code']]).toEqual([404, 'KEY_NOT_FOUND']);
    expect(await (await send('GET', '/v1/buckets/accounts')).json()).toMatchObject({ highest: 58, keys: 0, bytes: 0 });
  });
});

describe('GET of a key', () => {
  it('with a token is 412 where it is stale and 428 where it is not installed, and never installs', async () => {
    await put(KEY, 'value', 57);
    expect(await answer(await send('GET', KEY, { 'fencing-token': '41' }))).toMatchObject([
      412,
      { code: 'STALE_TOKEN', presented: 41, highest: 57 },
    ]);
    const early = await send('GET', KEY, { 'fencing-token': '60' });
    expect(await answer(early)).toMatchObject([428, { code: 'TOKEN_NOT_INSTALLED', presented: 60, highest: 57 }]);
    expect((await send('GET', KEY, { 'fencing-token': '57' })).status).toBe(200);
    expect((await send('GET', '/v1/buckets/accounts/keys', { 'fencing-token': '60' })).status).toBe(428);
  });

  it('answers 404 where the bucket does not exist', async () => {
    for (const path of [KEY, '/v1/buckets/accounts/keys', '/v1/buckets/accounts']) {
      expect(await answer(await send('GET', path))).toMatchObject([404, { code: 'BUCKET_NOT_FOUND' }]);
    }
  });

  it('answers 304 where the reader has the revision already', async () => {
    const tag = (await put(KEY, 'value', 57)).headers.get('etag') ?? '';
    expect((await send('GET', KEY, { 'if-none-match': `W/${tag}` })).status).toBe(304);
    expect((await send('GET', KEY, { 'if-none-match': '"999"' })).status).toBe(200);
    expect((await send('GET', KEY, { 'if-match': '"999"' })).status).toBe(412);
  });

  it('has a HEAD without a body', async () => {
    await put(KEY, 'value', 57);
    const head = await send('HEAD', KEY);
    expect([head.status, await head.text()]).toEqual([200, '']);
  });
});

describe('GET of the keys', () => {
  it('lists with prefix, after, limit and next', async () => {
    for (const key of ['a', 'b1', 'b2', 'b3', 'c']) await put(`/v1/buckets/accounts/keys/${key}`, key, 57);
    const first = await send('GET', '/v1/buckets/accounts/keys?prefix=b&limit=2');
    const entry = (key: string, revision: number): object => ({ key, revision, bytes: key.length });
    expect(await first.json()).toEqual({ bucket: 'accounts', keys: [entry('b1', 2), entry('b2', 3)], next: 'b2' });
    const second = await send('GET', '/v1/buckets/accounts/keys?prefix=b&limit=2&after=b2');
    expect(await second.json()).toEqual({ bucket: 'accounts', keys: [entry('b3', 4)], next: null });
  });

  it.each(['0', '1001', '-1', 'x', '1.5'])('answers 400 to the limit %s', async (limit) => {
    await install(57);
    expect((await send('GET', `/v1/buckets/accounts/keys?limit=${limit}`)).status).toBe(400);
  });
});

describe('POST of a batch', () => {
  it('writes all under one token and one revision', async () => {
    const response = await batch({
      writes: [
        { op: 'put', key: 'text', value: 'é' },
        { op: 'put', key: 'bytes', valueBase64: 'AAEC', ifRevision: null },
        { op: 'delete', key: 'none' },
      ],
    });
    expect(await answer(response)).toEqual([200, { revision: 1 }]);
    expect(response.headers.get('etag')).toBe('"1"');
    const read = await send('GET', '/v1/buckets/accounts/keys/bytes');
    expect([...new Uint8Array(await read.arrayBuffer())]).toEqual([0, 1, 2]);
  });

  it('writes nothing where one write is refused', async () => {
    await put(KEY, 'value', 57);
    const writes = [
      { op: 'put', key: 'x', value: '1' },
      { op: 'delete', key: '42', ifRevision: 9 },
    ];
    expect(await answer(await batch({ writes }))).toMatchObject([
      412,
      { code: 'PRECONDITION_FAILED', key: '42', revision: 1 },
    ]);
    expect(await answer(await batch({ writes }, 41))).toMatchObject([412, { code: 'STALE_TOKEN' }]);
    expect((await send('GET', '/v1/buckets/accounts/keys/x')).status).toBe(404);
  });

  it.each([
    [{}],
    [{ writes: {} }],
    [{ writes: [] }],
    [{ writes: [{ op: 'put', key: 'k' }] }],
    [{ writes: [{ op: 'put', key: 'k', value: '1', valueBase64: 'AA==' }] }],
    [{ writes: [{ op: 'put', key: 'k', valueBase64: 'A' }] }],
    [{ writes: [{ op: 'put', key: 7, value: '1' }] }],
    [{ writes: [{ op: 'delete', key: 'k', value: '1' }] }],
    [{ writes: [{ op: 'increment', key: 'k' }] }],
    [{ writes: [{ op: 'put', key: 'k', value: '1', ifrevision: 3 }] }],
    [{ writes: [{ op: 'put', key: 'k', value: '1', ifRevision: '3' }] }],
    [{ writes: [null] }],
    [[]],
    [null],
  ])('answers 400 to %j', async (body) => {
    expect(await answer(await batch(body))).toMatchObject([400, { code: 'INVALID_ARGUMENT' }]);
  });

  it('answers 415 to another type, whatever the body is', async () => {
    expect(
      (await send('POST', '/v1/buckets/accounts/batch', { 'content-type': 'text/plain', 'fencing-token': '57' }, '{}'))
        .status,
    ).toBe(415);
  });
});

describe('POST of a fence', () => {
  it('installs a token before its holder reads', async () => {
    await put(KEY, 'value', 41);
    expect(await answer(await install(57))).toEqual([200, { highest: 57, previous: 41 }]);
    expect(await answer(await install('0000000000000057'))).toEqual([200, { highest: 57, previous: 57 }]);
    expect((await put(KEY, 'late', 41)).status).toBe(412);
    expect(await answer(await install(41))).toMatchObject([412, { code: 'STALE_TOKEN', presented: 41, highest: 57 }]);
  });

  it.each([undefined, null, 0, -1, 1.5, 2 ** 53, '', 'x', true, [57]])('answers 400 to the token %j', async (token) => {
    expect((await install(token)).status).toBe(400);
  });

  it('answers 413 to a body beyond its limit, 400 to one that is not JSON, 415 to another type', async () => {
    const path = '/v1/buckets/accounts/fence';
    expect((await send('POST', path, JSON_TYPE, ' '.repeat(MAX_JSON_BODY_BYTES + 1))).status).toBe(413);
    expect((await send('POST', path, JSON_TYPE, '{')).status).toBe(400);
    expect((await send('POST', path, { 'content-type': 'text/plain' }, '{"token":57}')).status).toBe(415);
    expect(
      (await send('POST', path, { 'content-type': 'Application/JSON; charset=utf-8' }, '{"token":57}')).status,
    ).toBe(200);
  });
});

describe('PUT of a bucket', () => {
  const create = async (tokens: unknown): Promise<Response> =>
    await send('PUT', '/v1/buckets/accounts', JSON_TYPE, JSON.stringify({ tokens }));

  it('makes one that takes writes without a token: what a fence prevents happens there', async () => {
    expect((await create('optional')).status).toBe(201);
    expect((await create('optional')).status).toBe(200);
    await install(57);
    expect((await put(KEY, 'late', 41)).status).toBe(412);
    expect((await put(KEY, 'late')).status).toBe(204);
    expect(await (await send('GET', KEY)).text()).toBe('late');
  });

  it('cannot take the fence off a bucket', async () => {
    await put(KEY, 'value', 57);
    expect(await answer(await create('optional'))).toMatchObject([409, { code: 'BUCKET_EXISTS', tokens: 'required' }]);
    expect((await create('none')).status).toBe(400);
  });
});

describe('a request that may come from a web page', () => {
  it('is refused when it carries an Origin', async () => {
    for (const origin of ['http://evil.example', 'null', 'http://127.0.0.1:7400']) {
      expect(await answer(await put(KEY, 'value', 57, { origin }))).toMatchObject([403, { code: 'ORIGIN_REFUSED' }]);
    }
    expect((await send('GET', '/health', { origin: 'http://evil.example' })).status).toBe(403);
    for (const site of ['cross-site', 'same-site']) {
      expect(await answer(await send('GET', '/health', { 'sec-fetch-site': site }))).toMatchObject([
        403,
        { code: 'ORIGIN_REFUSED' },
      ]);
    }
    for (const site of ['none', 'same-origin']) {
      expect((await send('GET', '/health', { 'sec-fetch-site': site })).status).toBe(200);
    }
  });

  it('is refused when it names a foreign host', async () => {
    expect(await answer(await send('GET', '/health', { host: 'evil.example:7400' }))).toMatchObject([
      403,
      { code: 'HOST_REFUSED' },
    ]);
    expect((await send('GET', '/health', { host: 'localhost:7400' })).status).toBe(200);
  });
});

describe('anything else', () => {
  it('is 404 or 405 in JSON', async () => {
    expect(await answer(await send('GET', '/v2'))).toMatchObject([404, { code: 'NOT_FOUND' }]);
    for (const [method, path, allow] of [
      ['POST', KEY, 'GET, PUT, DELETE'],
      ['DELETE', '/v1/buckets/accounts', 'GET, PUT'],
      ['GET', '/v1/buckets/accounts/fence', 'POST'],
      ['GET', '/v1/buckets/accounts/batch', 'POST'],
      ['PUT', '/v1/buckets/accounts/keys', 'GET'],
    ] as const) {
      const response = await send(method, path);
      expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
      expect(await response.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
    }
  });
});

describe('a server whose disk failed', () => {
  it('says of each write whether it may have happened, and is not healthy', async () => {
    engine.failNext();
    expect(await answer(await put(KEY, 'value', 57))).toMatchObject([503, { code: 'DISK_ERROR', indeterminate: true }]);
    expect(await answer(await put(KEY, 'value', 57))).toMatchObject([
      503,
      { code: 'DISK_ERROR', indeterminate: false },
    ]);
    expect((await send('GET', '/health')).status).toBe(503);
  });
});
