import { beforeEach, describe, expect, it } from 'vitest';

import { AuthorityError } from '../../src/confirmation.ts';
import type { LockLook } from '../../src/confirmation.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { answer, callsOf, JSON_TYPE, KEY } from '../support/http-calls.ts';
import type { HttpCalls } from '../support/http-calls.ts';
import { memoryEngine } from '../support/memory-engine.ts';
import type { MemoryEngine } from '../support/memory-engine.ts';

let engine: MemoryEngine;
let http: HttpCalls;

beforeEach(async () => {
  engine = memoryEngine();
  http = callsOf(await FencedStore.open(engine));
});

describe('PUT of a bucket', () => {
  const create = async (tokens: unknown): Promise<Response> =>
    await http.send('PUT', '/v1/buckets/accounts', JSON_TYPE, JSON.stringify({ tokens }));

  it('makes one that takes writes without a token: what a fence prevents happens there', async () => {
    expect((await create('optional')).status).toBe(201);
    expect((await create('optional')).status).toBe(200);
    await http.install(57);
    expect((await http.put(KEY, 'late', 41)).status).toBe(412);
    expect((await http.put(KEY, 'late')).status).toBe(204);
    expect(await (await http.send('GET', KEY)).text()).toBe('late');
  });

  it('cannot take the fence off a bucket', async () => {
    await http.put(KEY, 'value', 57);
    expect(await answer(await create('optional'))).toMatchObject([409, { code: 'BUCKET_EXISTS', tokens: 'required' }]);
    expect((await create('none')).status).toBe(400);
  });
});

describe('a bucket that is bound to a lock', () => {
  const bucket = '/v1/buckets/accounts';
  let look: () => LockLook;

  beforeEach(async () => {
    const store = await FencedStore.open(engine, { authority: { look: async () => look() } });
    http = callsOf(store);
    look = () => ({ held: { lowest: 57, highest: 57 }, index: 60 });
  });

  const create = async (body: unknown): Promise<[number, Record<string, unknown>]> =>
    await answer(await http.send('PUT', bucket, JSON_TYPE, JSON.stringify(body)));

  it('is made with its lock, and says so', async () => {
    const made = { bucket: 'accounts', tokens: 'required', lock: 'jobs' };
    expect(await create({ lock: 'jobs' })).toEqual([201, made]);
    expect(await create({ tokens: 'required', lock: 'jobs' })).toEqual([200, made]);
    expect((await create({ tokens: 'required' }))[1]).toMatchObject({ code: 'BUCKET_EXISTS', lock: 'jobs' });
    expect((await answer(await http.send('GET', bucket)))[1]).toMatchObject(made);
  });

  it.each([{}, { lock: 5 }, { lock: null }, { lock: '' }, { tokens: 'never' }, { lock: 'a', locks: 'b' }])(
    'is not made by %j',
    async (body) => {
      expect((await create(body))[1]).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect((await http.send('GET', bucket)).status).toBe(404);
    },
  );

  it('answers 409 to a token that the lock never gave, and to a floor that fences off who holds it', async () => {
    await create({ lock: 'jobs' });
    expect(await answer(await http.install(2 ** 53 - 1))).toMatchObject([
      409,
      { code: 'TOKEN_NOT_GRANTED', lock: 'jobs', presented: 2 ** 53 - 1, newest: 57 },
    ]);
    look = () => ({ held: { lowest: 41, highest: 57 }, index: 60 });
    expect(await answer(await http.put(KEY, 'v', 57))).toMatchObject([
      409,
      { code: 'FLOOR_TOO_HIGH', presented: 57, lowest: 41 },
    ]);
    expect((await http.put(KEY, 'v', 57, { 'fencing-floor': '41' })).status).toBe(204);
  });

  it('answers 503 with a time to come again while the ensemble cannot be reached', async () => {
    await create({ lock: 'jobs' });
    await http.put(KEY, 'v', 57);
    look = () => {
      throw new AuthorityError('nobody answers');
    };
    expect((await http.put(KEY, 'w', 57)).status).toBe(204);
    const refused = await http.put(KEY, 'x', 60);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await answer(refused)).toMatchObject([503, { code: 'ENSEMBLE_UNREACHABLE', indeterminate: false }]);
  });

  it('answers 409 to a new token of a bucket without a lock, where every token is to be confirmed', async () => {
    const store = await FencedStore.open(engine, { demandLocks: true });
    http = callsOf(store);
    expect(await answer(await http.put(KEY, 'v', 57))).toMatchObject([409, { code: 'BUCKET_NOT_BOUND' }]);
  });
});
