import { beforeEach, describe, expect, it } from 'vitest';

import { FencedStore } from '../../src/fenced-store.ts';
import { REFUSAL_STATUS } from '../../src/http/status.ts';
import { MAX_JSON_BODY_BYTES, MAX_TOKEN_JUMP } from '../../src/limits.ts';
import { answer, callsOf, JSON_TYPE, KEY } from '../support/http-calls.ts';
import type { HttpCalls } from '../support/http-calls.ts';
import { memoryEngine } from '../support/memory-engine.ts';

let http: HttpCalls;

beforeEach(async () => {
  http = callsOf(await FencedStore.open(memoryEngine()));
});

describe('a write', () => {
  it('with a higher token installs it; with a stale one answers 412 and changes nothing', async () => {
    await http.put(KEY, 'old', 41);
    await http.put(KEY, 'new', 57);
    const [status, body] = await answer(await http.put(KEY, 'late', 41));
    expect(status).toBe(412);
    expect(body).toMatchObject({ code: 'STALE_TOKEN', presented: 41, highest: 57 });
    expect(await (await http.send('GET', KEY)).text()).toBe('new');
  });

  it('without a token answers 428 where the bucket demands one', async () => {
    const [status, body] = await answer(await http.put(KEY, 'value'));
    expect([status, body['code']]).toEqual([428, 'TOKEN_REQUIRED']);
  });

  it.each(['', 'x', '-1', '0', '1.5', '0x10', '9007199254740992', '00000000000000001', '41, 57'])(
    'answers 400 to the token %j',
    async (token) => {
      const [status, body] = await answer(await http.put(KEY, 'v', token));
      expect([status, body['code']]).toEqual([400, 'INVALID_ARGUMENT']);
    },
  );

  it('takes the floor of a holder that shares its lock beside the token', async () => {
    expect((await http.put(KEY, 'a', 57, { 'fencing-floor': '0000000000000041' })).status).toBe(204);
    expect((await http.put(KEY, 'b', 41, { 'fencing-floor': '41' })).status).toBe(204);
    expect((await http.send('GET', KEY, { 'fencing-token': '57', 'fencing-floor': '41' })).status).toBe(200);
    expect((await http.send('GET', KEY, { 'fencing-token': '57' })).status).toBe(428);
    const raised = JSON.stringify({ token: 60, floor: 57 });
    const installed = await http.send('POST', '/v1/buckets/accounts/fence', JSON_TYPE, raised);
    expect(await installed.json()).toEqual({ highest: 57, previous: 41 });
    expect((await http.put(KEY, 'late', 41, { 'fencing-floor': '41' })).status).toBe(412);
  });

  it.each([
    ['57', '58'],
    ['57', ''],
    ['57', '-1'],
    ['57', '1.5'],
    ['57', '9007199254740992'],
    [undefined, '41'],
  ])('answers 400 to the token %j with the floor %j', async (token, floor) => {
    const [status, body] = await answer(await http.put(KEY, 'v', token, { 'fencing-floor': floor }));
    expect([status, body['code'], body['argument']]).toEqual([400, 'INVALID_ARGUMENT', 'floor']);
  });

  it.each([{ token: 57, floor: 58 }, { token: 57, floor: null }, { token: 57, floor: [1] }, { floor: 41 }])(
    'answers 400 to an install of %j',
    async (body) => {
      const sent = await http.send('POST', '/v1/buckets/accounts/fence', JSON_TYPE, JSON.stringify(body));
      expect((await answer(sent))[1]).toMatchObject({ code: 'INVALID_ARGUMENT' });
    },
  );

  it('takes the printed form of a token with its leading zeros', async () => {
    expect((await http.put(KEY, 'value', '0000000000000057')).status).toBe(204);
    expect(await (await http.send('GET', '/v1/buckets/accounts')).json()).toMatchObject({ highest: 57 });
  });

  it('answers 409 to a token far above the highest, with what to do, and lets the next holder write', async () => {
    await http.put(KEY, 'value', 57);
    const [status, body] = await answer(await http.install(Number.MAX_SAFE_INTEGER));
    expect([status, body]).toMatchObject([409, { code: 'TOKEN_JUMP_REFUSED', highest: 57, limit: MAX_TOKEN_JUMP }]);
    expect(body['message']).toContain('--allow-token-jumps');
    expect((await http.put(KEY, 'next', 58)).status).toBe(204);
  });
});

describe('POST of a fence', () => {
  it('installs a token before its holder reads', async () => {
    await http.put(KEY, 'value', 41);
    expect(await answer(await http.install(57))).toEqual([200, { highest: 57, previous: 41 }]);
    expect(await answer(await http.install('0000000000000057'))).toEqual([200, { highest: 57, previous: 57 }]);
    expect((await http.put(KEY, 'late', 41)).status).toBe(412);
    expect(await answer(await http.install(41))).toMatchObject([
      412,
      { code: 'STALE_TOKEN', presented: 41, highest: 57 },
    ]);
  });

  it.each([undefined, null, 0, -1, 1.5, 2 ** 53, '', 'x', true, [57]])('answers 400 to the token %j', async (token) => {
    expect((await http.install(token)).status).toBe(400);
  });

  it('answers 413 to a body beyond its limit, 400 to one that is not JSON, 415 to another type', async () => {
    const path = '/v1/buckets/accounts/fence';
    expect((await http.send('POST', path, JSON_TYPE, ' '.repeat(MAX_JSON_BODY_BYTES + 1))).status).toBe(413);
    expect((await http.send('POST', path, JSON_TYPE, '{')).status).toBe(400);
    expect((await http.send('POST', path, { 'content-type': 'text/plain' }, '{"token":57}')).status).toBe(415);
    expect(
      (await http.send('POST', path, { 'content-type': 'Application/JSON; charset=utf-8' }, '{"token":57}')).status,
    ).toBe(200);
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
    await http.put(KEY, 'v', 57);
    const refused = await http.put(KEY, 'late', 41);
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([412, false]);
  });
});
