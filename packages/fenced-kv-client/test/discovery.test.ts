/** A client that knows the ensemble and the name of a group: how it finds the replicas, and what it says where it does not. */

import { describe, expect, it } from 'vitest';

import { FencedKv, GroupNotFoundError, type FencedKvError, type Fetch, type GroupNodes } from '../src/index.ts';

const CONFIGURATION = '/fenced-kv/orders/configuration';
const REPLICAS = '/fenced-kv/orders/replicas';

/** What the nodes of an ensemble reject with where there is none. */
function notFound(path: string): Error {
  return Object.assign(new Error(`there is no node ${path}`), { code: 'NOT_FOUND' });
}

/** Nodes that are changed by hand; each change is told to whoever watches. */
class FakeNodes implements GroupNodes {
  readonly #data = new Map<string, unknown>();
  readonly #watchers = new Set<() => void>();
  failure: Error | undefined;
  watched: string[] = [];

  async get(path: string): Promise<{ data: Uint8Array }> {
    this.#assertReachable();
    const value = this.#data.get(path);
    if (value === undefined) throw notFound(path);
    return await Promise.resolve({
      data: new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value)),
    });
  }

  async children(path: string): Promise<{ names: string[] }> {
    this.#assertReachable();
    const names = [...this.#data.keys()].filter((each) => each.startsWith(`${path}/`));
    if (names.length === 0) throw notFound(path);
    return await Promise.resolve({ names: names.map((each) => each.slice(path.length + 1)) });
  }

  watch(path: string, { signal }: { signal: AbortSignal }): AsyncIterable<unknown> & { started: Promise<unknown> } {
    this.#assertReachable();
    this.watched.push(path);
    const watchers = this.#watchers;
    return {
      started: Promise.resolve(),
      async *[Symbol.asyncIterator]() {
        while (!signal.aborted) {
          await new Promise<void>((resolve) => {
            watchers.add(resolve);
            signal.addEventListener('abort', () => resolve(), { once: true });
          });
          yield 'changed';
        }
      },
    };
  }

  /** Undefined removes. */
  set(changes: Readonly<Record<string, unknown>>): void {
    for (const [path, value] of Object.entries(changes)) {
      if (value === undefined) this.#data.delete(path);
      else this.#data.set(path, value);
    }
    for (const told of this.#watchers) told();
    this.#watchers.clear();
  }

  #assertReachable(): void {
    if (this.failure !== undefined) throw this.failure;
  }
}

const replica = (url: unknown): unknown => ({ format: 1, directory: 'd', url });
const configuration = (epoch: number, primary: string): unknown => ({ format: 1, epoch, primary, inSync: [primary] });

/** Every address answers; what was asked where. */
function answering(): { readonly fetch: Fetch; readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    fetch: async (input) => {
      asked.push(new URL(input).origin);
      return await Promise.resolve(new Response(null, { status: 204, headers: { etag: '"1"' } }));
    },
  };
}

const turns = async (): Promise<void> => await new Promise((resolve) => setTimeout(resolve, 20));

describe('a client that is given an ensemble and a group', () => {
  it('finds the primary among the replicas that have registered', async () => {
    const nodes = new FakeNodes();
    nodes.set({
      [CONFIGURATION]: configuration(4, 'r2'),
      [`${REPLICAS}/r1`]: replica('http://r1'),
      [`${REPLICAS}/r2`]: replica('http://r2/'),
    });
    const { fetch, asked } = answering();
    const kv = new FencedKv({ nodes, group: 'orders' }, { fetch });
    await kv.bucket('b').put('k', 'v');
    expect([asked, nodes.watched]).toEqual([['http://r2'], ['/fenced-kv/orders']]);
    kv.close();
  });

  it('follows a primary that comes back under another address, and replicas that come and go', async () => {
    const nodes = new FakeNodes();
    nodes.set({ [CONFIGURATION]: configuration(4, 'r1'), [`${REPLICAS}/r1`]: replica('http://r1') });
    const { fetch, asked } = answering();
    const kv = new FencedKv({ nodes, group: 'orders' }, { fetch });
    await kv.bucket('b').put('k', 'v');
    nodes.set({ [`${REPLICAS}/r1`]: replica('http://r1-moved') });
    await turns();
    await kv.bucket('b').put('k', 'v');
    nodes.set({
      [`${REPLICAS}/r1`]: undefined,
      [`${REPLICAS}/r2`]: replica('http://r2'),
      [CONFIGURATION]: configuration(5, 'r2'),
    });
    await turns();
    await kv.bucket('b').put('k', 'v');
    expect(asked).toEqual(['http://r1', 'http://r1-moved', 'http://r2']);
    kv.close();
  });

  it('asks the other replicas where the primary does not answer', async () => {
    const nodes = new FakeNodes();
    nodes.set({
      [CONFIGURATION]: configuration(4, 'r2'),
      [`${REPLICAS}/r1`]: replica('http://r1'),
      [`${REPLICAS}/r2`]: replica('http://r2'),
    });
    const asked: string[] = [];
    const fetch: Fetch = async (input) => {
      asked.push(new URL(input).origin);
      if (input.startsWith('http://r2')) throw Object.assign(new TypeError('no'), { cause: { code: 'ECONNRESET' } });
      return await Promise.resolve(new Response('v', { headers: { etag: '"1"' } }));
    };
    const kv = new FencedKv({ nodes, group: 'orders' }, { fetch });
    await kv.bucket('b').get('k');
    expect(asked).toEqual(['http://r2', 'http://r1']);
    kv.close();
  });

  it('says at once that there is no such group, and finds it when it has been made', async () => {
    const nodes = new FakeNodes();
    const { fetch, asked } = answering();
    const kv = new FencedKv({ nodes, group: 'orders' }, { fetch, timeoutMs: 60_000 });
    const error: unknown = await kv
      .bucket('b')
      .put('k', 'v')
      .catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(GroupNotFoundError);
    expect(error).toMatchObject({ code: 'GROUP_NOT_FOUND', group: 'orders', retryable: false, indeterminate: false });
    expect(error).toMatchObject({ message: expect.stringContaining('--replica-of orders') });
    nodes.set({ [CONFIGURATION]: configuration(0, 'r1'), [`${REPLICAS}/r1`]: replica('http://r1') });
    await turns();
    await kv.bucket('b').put('k', 'v');
    expect(asked).toEqual(['http://r1']);
    kv.close();
  });

  it('waits for the first replica that tells its address, within the time for the call', async () => {
    const nodes = new FakeNodes();
    nodes.set({ [CONFIGURATION]: configuration(0, 'r1') });
    const { fetch, asked } = answering();
    const kv = new FencedKv({ nodes, group: 'orders' }, { fetch, timeoutMs: 60_000 });
    const call = kv.bucket('b').put('k', 'v');
    await turns();
    expect(asked).toEqual([]);
    nodes.set({ [`${REPLICAS}/r1`]: replica('http://r1') });
    await call;
    expect(asked).toEqual(['http://r1']);
    kv.close();
    const short = new FencedKv({ nodes: emptyGroup(), group: 'orders' }, { fetch, timeoutMs: 50 });
    await expect(short.bucket('b').put('k', 'v')).rejects.toMatchObject({
      code: 'CONNECTION',
      retryable: true,
      indeterminate: false,
      message: expect.stringContaining('has told the ensemble its address'),
    });
    short.close();
  });

  it('says why the ensemble could not be asked', async () => {
    const nodes = new FakeNodes();
    nodes.failure = new Error('the session has expired; connect anew');
    const { fetch } = answering();
    const kv = new FencedKv({ nodes, group: 'orders' }, { fetch, timeoutMs: 50 });
    const error: unknown = await kv
      .bucket('b')
      .put('k', 'v')
      .catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'CONNECTION', retryable: true, indeterminate: false, cause: nodes.failure });
    expect((error as FencedKvError).message).toContain('the session has expired');
    kv.close();
  });

  it('ends a call that waits for an address when it is aborted, when the lock may be lost, and when it is closed', async () => {
    const { fetch, asked } = answering();
    const kv = new FencedKv({ nodes: emptyGroup(), group: 'orders' }, { fetch, timeoutMs: 60_000 });
    const aborter = new AbortController();
    const aborted = kv.bucket('b').put('k', 'v', { signal: aborter.signal });
    aborter.abort(new Error('enough'));
    await expect(aborted).rejects.toMatchObject({ code: 'ABORTED', indeterminate: false });
    let held = true;
    const lost = new Error('the lock is lost');
    const assertHeld = (): void => {
      if (!held) throw lost;
    };
    const fenced = kv.bucket('b').fencedBy({ token: 5, assertHeld });
    await turns();
    held = false;
    kv.close();
    await expect(fenced).rejects.toBe(lost);
    await expect(kv.bucket('b').put('k', 'v')).rejects.toMatchObject({ code: 'CLOSED' });
    expect(asked).toEqual([]);
  });

  it.each([
    ['not JSON', '{'],
    ['null', 'null'],
    ['no URL', replica('ftp://r1')],
    ['a URL of another type', replica(5)],
  ])('believes no replica that has registered %s, and finds the others', async (_what, data) => {
    const nodes = new FakeNodes();
    nodes.set({ [CONFIGURATION]: configuration(4, 'r1'), [`${REPLICAS}/r1`]: data });
    const { fetch, asked } = answering();
    const kv = new FencedKv({ nodes, group: 'orders' }, { fetch, timeoutMs: 50 });
    await expect(kv.bucket('b').put('k', 'v')).rejects.toMatchObject({ retryable: true });
    expect(asked).toEqual([]);
    nodes.set({ [`${REPLICAS}/r2`]: replica('http://r2') });
    await turns();
    await kv.bucket('b').put('k', 'v');
    expect(asked).toEqual(['http://r2']);
    kv.close();
  });

  it.each([
    ['group', { nodes: new FakeNodes() }],
    ['nodes', { group: 'orders' }],
    ['nodes', { nodes: {}, group: 'orders' }],
    ['group', { nodes: new FakeNodes(), group: 'a/b' }],
    ['group', { nodes: new FakeNodes(), group: '../x' }],
    ['group', { nodes: new FakeNodes(), group: '' }],
    ['group', { nodes: new FakeNodes(), group: 5 }],
    ['grop', { nodes: new FakeNodes(), grop: 'orders' }],
    ['http URL', undefined],
    ['http URL', null],
    ['http URL', 5],
  ])('is refused with what is wrong with %s', (name, where) => {
    expect(() => new FencedKv(where as never)).toThrow(name);
  });

  it('is given the group once', () => {
    const follow = { nodes: new FakeNodes(), group: 'orders' };
    expect(() => new FencedKv(follow, { follow })).toThrow('leave follow out');
    expect(() => new FencedKv('http://r1', { follow: { nodes: follow.nodes } as never })).toThrow('group is');
  });
});

function emptyGroup(): FakeNodes {
  const nodes = new FakeNodes();
  nodes.set({ [CONFIGURATION]: configuration(0, 'r1') });
  return nodes;
}
