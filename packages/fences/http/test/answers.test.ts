import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fencedFetch, memoryFloors, type FloorStore } from '../src/index.ts';
import { SERVICES, type Service } from './support/services.ts';

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe.each(Object.entries(SERVICES))('a service on %s', (_name, start) => {
  let service: Service;
  beforeAll(async () => {
    service = await start(memoryFloors(), { waitMs: 50 });
  });
  afterAll(() => service?.close());

  const put = async (cell: string, headers: Readonly<Record<string, string>>, query = ''): Promise<Response> =>
    await fetch(`${service.url}/jobs/${cell}${query}`, { method: 'PUT', body: 'value', headers });

  it('answers a stale token with 412 and the highest, and changes nothing', async () => {
    expect((await put('a', { 'Fencing-Token': '57' })).status).toBe(204);
    const response = await put('a', { 'Fencing-Token': '41' });
    expect(response.status).toBe(412);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toMatchObject({ code: 'STALE_TOKEN', scope: 'jobs', presented: 41, highest: 57 });
  });

  it('answers a request without a token with 428', async () => {
    const response = await put('b', {});
    expect(response.status).toBe(428);
    expect(await response.json()).toMatchObject({ code: 'TOKEN_REQUIRED', scope: 'jobs' });
    expect(service.data.cells.size).toBe(1);
  });

  it.each(['0', '-1', '1.5', '9007199254740992', 'x', '57, 58', '57; floor=58'])(
    'answers the token %s with 400',
    async (token) => {
      const response = await put('c', { 'Fencing-Token': token });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('Fencing-Token'),
      });
      expect(service.data.cells.size).toBe(1);
    },
  );

  it('answers 503 where an older request works on for too long', async () => {
    const slow = put('d', { 'Fencing-Token': '60' }, '?gate=slow');
    while (!service.data.waits('slow')) await new Promise((resolve) => setTimeout(resolve, 1));
    const response = await put('d', { 'Fencing-Token': '61' });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.json()).toMatchObject({ code: 'TIMEOUT' });
    await service.data.end('slow', true);
    expect((await slow).status).toBe(204);
  });

  it('does not let a newer one in because the client of an older one has hung up', async () => {
    const hangUp = new AbortController();
    const url = `${service.url}/jobs/e?gate=gone`;
    const gone = fetch(url, { method: 'PUT', body: 'old', headers: { 'Fencing-Token': '70' }, signal: hangUp.signal });
    gone.catch(() => undefined);
    while (!service.data.waits('gone')) await new Promise((resolve) => setTimeout(resolve, 1));
    hangUp.abort();
    expect((await put('e', { 'Fencing-Token': '71' })).status).toBe(503);
    await service.data.end('gone', true);
    while ((await put('e', { 'Fencing-Token': '71' })).status !== 204) continue;
    expect([...service.data.cells].filter(([key]) => key.includes('"e"'))).toEqual([['["jobs","e"]', 'value']]);
  });

  it('says nothing of what broke inside', async () => {
    const broken: FloorStore = {
      raise: async () => {
        throw Object.assign(new Error('/var/lib/secret'), { code: 'EIO' });
      },
      highest: async () => 0,
    };
    const other = await start(broken);
    const response = await fetch(`${other.url}/jobs/a`, {
      method: 'PUT',
      body: 'x',
      headers: { 'Fencing-Token': '1' },
    });
    expect(response.status).toBe(500);
    expect(other.data.cells.size).toBe(0);
    await other.close();
  });
});

describe('fencedFetch', () => {
  let service: Service;
  beforeAll(async () => {
    const start = SERVICES['node:http'];
    if (start !== undefined) service = await start(memoryFloors());
  });
  afterAll(() => service?.close());

  const put = { method: 'PUT', body: 'value' };

  it('sends the token and the floor, and gives the answer', async () => {
    const sent: string[] = [];
    const spy = async (_input: unknown, init?: RequestInit): Promise<Response> => {
      sent.push(new Headers(init?.headers).get('fencing-token') ?? '');
      return new Response('it');
    };
    const answer = await fencedFetch({ token: 9, floor: 5 }, spy)('http://x/', { headers: { 'Fencing-Token': '1' } });
    expect(await answer.text()).toBe('it');
    expect(sent).toEqual(['9; floor=5']);
  });

  it('rejects with the errors of a fence', async () => {
    expect((await fencedFetch({ token: 7 })(`${service.url}/jobs/a`, put)).status).toBe(204);
    const stale = fencedFetch({ token: 5 })(`${service.url}/jobs/a`, put);
    expect(await failureOf(stale)).toMatchObject({ name: 'StaleTokenError', scope: 'jobs', token: 5, highest: 7 });
  });

  it('leaves a 412 that is not of a fence to the caller', async () => {
    const other = async (): Promise<Response> => new Response('{"error":"If-Match"}', { status: 412 });
    const response = await fencedFetch({ token: 5 }, other)('http://x/', put);
    expect(response.status).toBe(412);
    expect(await response.text()).toBe('{"error":"If-Match"}');
  });

  it('sends nothing when the lock is lost, and ends when it is lost meanwhile', async () => {
    const lost = new AbortController();
    const assertHeld = (): void => {
      throw new RangeError('not held');
    };
    expect(await failureOf(fencedFetch({ token: 9, assertHeld })(`${service.url}/jobs/a`, put))).toBeInstanceOf(
      RangeError,
    );
    const slow = fencedFetch({ token: 9, signal: lost.signal })(`${service.url}/jobs/a?gate=x`, put);
    slow.catch(() => undefined);
    while (!service.data.waits('x')) await new Promise((resolve) => setTimeout(resolve, 1));
    lost.abort(new Error('lost'));
    expect(await failureOf(slow)).toMatchObject({ code: 'ABORTED', indeterminate: true });
    await service.data.end('x', false);
  });

  it("rejects as fetch does for the caller's own signal", async () => {
    const signal = AbortSignal.abort(new RangeError('enough'));
    expect(await failureOf(fencedFetch({ token: 9 })(`${service.url}/jobs/a`, { ...put, signal }))).toBeInstanceOf(
      RangeError,
    );
  });

  it('says whether the service may have got a request that is not answered', async () => {
    const start = SERVICES['node:http'];
    const gone = await start?.(memoryFloors());
    await gone?.close();
    const url = `${gone?.url}/jobs/a`;
    expect(await failureOf(fencedFetch({ token: 9 })(url, put))).toMatchObject({
      code: 'CONNECTION',
      indeterminate: true,
    });
    expect(await failureOf(fencedFetch({ token: 9 })(url))).toMatchObject({
      code: 'CONNECTION',
      indeterminate: false,
      retryable: true,
    });
  });

  it.each([undefined, null, 9, {}, { token: '9' }])('needs a holder, and not %j', (holder) => {
    expect(() => fencedFetch(holder as { token: number })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });
});
