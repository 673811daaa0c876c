/** A client of a group: where it goes, and what it sends again. */

import { describe, expect, it } from 'vitest';

import { FencedKv, NotPrimaryError, type Fetch, type GroupNodes } from '../src/index.ts';

const URLS = ['http://r1', 'http://r2', 'http://r3'] as const;
const R1 = 'http://r1';
const R2 = 'http://r2';
const R3 = 'http://r3';

interface Asked {
  readonly origin: string;
  readonly method: string;
  readonly epoch: string | null;
}

/** Replicas that answer as `replicas` says, and what they were asked. */
function group(replicas: Readonly<Record<string, (asked: Asked) => Response | Promise<Response>>>): {
  readonly fetch: Fetch;
  readonly asked: Asked[];
} {
  const asked: Asked[] = [];
  return {
    asked,
    fetch: async (input, { method = 'GET', headers, signal }) => {
      const call = { origin: new URL(input).origin, method, epoch: new Headers(headers).get('group-epoch') };
      asked.push(call);
      const answer = replicas[call.origin];
      if (answer === undefined) throw refusedConnection();
      return await Promise.race([answer(call), aborted(signal)]);
    },
  };
}

async function aborted(signal: AbortSignal | null | undefined): Promise<never> {
  return await new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('the try was given up')));
  });
}

function refusedConnection(): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) });
}

function brokenConnection(): Error {
  return new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) });
}

const written = (epoch: number): Response =>
  new Response(null, { status: 204, headers: { etag: '"1"', 'group-epoch': String(epoch) } });

function notPrimary(primary: string | null, epoch: number, indeterminate = false): Response {
  const named = primary === null ? null : { replica: new URL(primary).hostname, url: primary };
  return Response.json(
    { code: 'NOT_PRIMARY', message: 'another one', indeterminate, primary: named, epoch },
    { status: 503 },
  );
}

const never = async (): Promise<Response> => await new Promise(() => {});

describe('a client of a group', () => {
  it('goes to the replica that another one names as primary, and stays there', async () => {
    const { fetch, asked } = group({ [R1]: () => notPrimary(R3, 7), [R3]: () => written(7) });
    const bucket = new FencedKv(URLS, { fetch }).bucket('b');
    await bucket.put('k', 'v');
    await bucket.put('k', 'w');
    expect(asked.map(({ origin }) => origin)).toEqual([R1, R3, R3]);
  });

  it('tells the latest epoch that it was answered under', async () => {
    const { fetch, asked } = group({ [R1]: () => written(57) });
    const bucket = new FencedKv(URLS, { fetch }).bucket('b');
    await bucket.put('k', 'v');
    await bucket.put('k', 'v');
    expect(asked.map(({ epoch }) => epoch)).toEqual([null, '57']);
  });

  it('does not go back to the primary of an epoch before the one that has answered', async () => {
    let tries = 0;
    const { fetch, asked } = group({
      [R1]: () => {
        tries += 1;
        return tries === 1 ? written(9) : notPrimary(R2, 8);
      },
      [R2]: () => notPrimary(null, 8),
      [R3]: () => written(10),
    });
    const bucket = new FencedKv([R1, R3], { fetch }).bucket('b');
    await bucket.put('k', 'v');
    await bucket.put('k', 'v');
    expect(asked.map(({ origin }) => origin)).toEqual([R1, R1, R3]);
  });

  it('asks the others where nothing listens, and where nobody is known to be primary', async () => {
    const { fetch, asked } = group({ [R2]: () => notPrimary(null, 0), [R3]: () => written(1) });
    await new FencedKv(URLS, { fetch }).bucket('b').put('k', 'v');
    expect(asked.map(({ origin }) => origin)).toEqual([R1, R2, R3]);
  });

  it('waits for a primary that is not ready, up to the time for the call', async () => {
    const { fetch, asked } = group({ [R1]: () => notPrimary(R1, 3) });
    const bucket = new FencedKv([R1], { fetch, timeoutMs: 300 }).bucket('b');
    const error: unknown = await bucket.put('k', 'v').catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(NotPrimaryError);
    expect(error).toMatchObject({ retryable: true, indeterminate: false, epoch: 3, primary: { url: R1 } });
    expect(asked.length).toBeGreaterThan(1);
  });

  it.each([
    ['whose connection broke', () => Promise.reject(brokenConnection())],
    ['that the replica may have done before it was primary no more', () => notPrimary(R2, 4, true)],
    [
      'that a replica whose disk has failed may have done',
      () => Response.json({ code: 'DISK_ERROR', message: 'no', indeterminate: true }, { status: 503 }),
    ],
    ['that was not answered', never],
  ])('never sends a write again %s, and sends the next one elsewhere', async (_what, answer) => {
    const { fetch, asked } = group({ [R1]: answer, [R2]: () => written(5) });
    const bucket = new FencedKv([R1, R2], { fetch, timeoutMs: 200 }).bucket('b');
    await expect(bucket.put('k', 'v')).rejects.toMatchObject({ indeterminate: true });
    expect(asked.map(({ origin }) => origin)).toEqual([R1]);
    await bucket.put('k', 'v');
    expect(asked.map(({ origin }) => origin)).toEqual([R1, R2]);
  });

  it('sends a write of a stream once, since the stream is used up', async () => {
    const { fetch, asked } = group({ [R1]: () => notPrimary(R2, 4), [R2]: () => written(4) });
    const bucket = new FencedKv(URLS, { fetch }).bucket('b');
    const stream = new Blob(['v']).stream();
    await expect(bucket.put('k', stream)).rejects.toBeInstanceOf(NotPrimaryError);
    await bucket.put('k', new Blob(['v']).stream());
    expect(asked.map(({ origin }) => origin)).toEqual([R1, R2]);
  });

  it('reads elsewhere when the connection breaks, and when a replica does not answer', async () => {
    const found = (): Response => new Response('v', { headers: { etag: '"1"', 'group-epoch': '5' } });
    const { fetch, asked } = group({ [R1]: never, [R2]: () => Promise.reject(brokenConnection()), [R3]: found });
    const value = await new FencedKv(URLS, { fetch, timeoutMs: 2_000 }).bucket('b').get('k');
    expect(new TextDecoder().decode(value?.value)).toBe('v');
    expect(asked.map(({ origin }) => origin)).toEqual([R1, R2, R3]);
  });

  it('sends nothing again that is refused', async () => {
    const { fetch, asked } = group({
      [R1]: () => Response.json({ code: 'STALE_TOKEN', message: 'no', presented: 1, highest: 2 }, { status: 412 }),
    });
    await expect(new FencedKv(URLS, { fetch }).bucket('b').put('k', 'v')).rejects.toMatchObject({
      code: 'STALE_TOKEN',
    });
    expect(asked).toHaveLength(1);
  });

  it('sends nothing again once the lock may be lost', async () => {
    let held = true;
    const { fetch, asked } = group({
      [R1]: () => {
        if (asked.length > 1) held = false;
        return asked.length > 1 ? notPrimary(R2, 4) : Response.json({ highest: 5, previous: 0 });
      },
      [R2]: () => written(4),
    });
    const lost = new Error('the lock is lost');
    const bucket = await new FencedKv(URLS, { fetch }).bucket('b').fencedBy({
      token: 5,
      assertHeld: () => {
        if (!held) throw lost;
      },
    });
    await expect(bucket.put('k', 'v')).rejects.toBe(lost);
    expect(asked.map(({ origin }) => origin)).toEqual([R1, R1]);
  });

  it('ends its tries when the call is aborted', async () => {
    const { fetch } = group({});
    const aborter = new AbortController();
    const call = new FencedKv(URLS, { fetch }).bucket('b').put('k', 'v', { signal: aborter.signal });
    aborter.abort(new Error('enough'));
    await expect(call).rejects.toMatchObject({ code: 'ABORTED' });
  });

  it('is given at least one address, each an http one', () => {
    expect(() => new FencedKv([])).toThrow('list');
    expect(() => new FencedKv(['http://r1', 'r2'])).toThrow('r2');
  });
});

describe('a client that follows the configuration', () => {
  const text = (value: unknown): { data: Uint8Array } => ({ data: new TextEncoder().encode(JSON.stringify(value)) });

  /** Nodes of an ensemble of which the configuration changes when it is told to. */
  function nodesOf(primaries: readonly [epoch: number, replica: string][]): { nodes: GroupNodes; change: () => void } {
    let at = 0;
    let told: () => void = () => {};
    const nodes: GroupNodes = {
      get: async (path) => {
        const [epoch, primary] = primaries[at] ?? [0, ''];
        if (path === '/fenced-kv/orders/configuration') return text({ format: 1, epoch, primary, inSync: [primary] });
        return text({ format: 1, directory: '', url: `http://${path.split('/').at(-1)}` });
      },
      children: async () => await Promise.resolve({ names: ['r1', 'r2', 'r3'] }),
      watch: (_path, { signal }) => ({
        started: Promise.resolve(),
        async *[Symbol.asyncIterator]() {
          while (!signal.aborted) {
            await new Promise<void>((resolve) => {
              told = resolve;
              signal.addEventListener('abort', () => resolve(), { once: true });
            });
            yield 'changed';
          }
        },
      }),
    };
    return {
      nodes,
      change() {
        at += 1;
        told();
      },
    };
  }

  it('goes to the primary without having asked another replica', async () => {
    const { fetch, asked } = group({ [R2]: () => written(4), [R3]: () => written(5) });
    const { nodes, change } = nodesOf([
      [4, 'r2'],
      [5, 'r3'],
    ]);
    const kv = new FencedKv([R1], { fetch, follow: { nodes, group: 'orders' } });
    await new Promise((resolve) => setTimeout(resolve, 20));
    await kv.bucket('b').put('k', 'v');
    change();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await kv.bucket('b').put('k', 'v');
    kv.close();
    expect(asked.map(({ origin }) => origin)).toEqual([R2, R3]);
  });

  it('works without the ensemble', async () => {
    const { fetch } = group({ [R1]: () => written(4) });
    const nodes: GroupNodes = {
      get: async () => await Promise.reject(new Error('no ensemble')),
      children: async () => await Promise.reject(new Error('no ensemble')),
      watch: () => {
        throw new Error('no ensemble');
      },
    };
    const kv = new FencedKv(R1, { fetch, follow: { nodes, group: 'orders' } });
    await kv.bucket('b').put('k', 'v');
    kv.close();
  });

  it.each([
    ['group', { nodes: nodesOf([]).nodes, group: '../x' }],
    ['nodes', { nodes: {}, group: 'orders' }],
    ['grop', { nodes: nodesOf([]).nodes, grop: 'orders' }],
  ])('says what is wrong with %s', (name, follow) => {
    expect(() => new FencedKv(R1, { follow: follow as never })).toThrow(name);
  });
});
