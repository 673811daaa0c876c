import { getEventListeners } from 'node:events';

import { silentLogger } from '@holdfast/runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import {
  ChangesMissedError,
  FencedKv,
  FencedKvError,
  PreconditionFailedError,
  StaleTokenError,
  TokenNotGrantedError,
  TokenNotInstalledError,
  TokenRequiredError,
} from '@holdfast/fenced-kv-client';
import type { Fetch } from '@holdfast/fenced-kv-client';
import { AuthorityError } from '../../src/confirmation.ts';
import type { LockLook } from '../../src/confirmation.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { createHttpHandler } from '../../src/http/handler.ts';
import { hostPolicy } from '../../src/http/guard.ts';
import { listen } from '../../src/http/server.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { memoryEngine } from '../support/memory-engine.ts';
import type { MemoryEngine } from '../support/memory-engine.ts';

let engine: MemoryEngine;
let store: FencedStore;
let server: HttpServer;
let kv: FencedKv;

beforeEach(async () => {
  engine = memoryEngine();
  store = await FencedStore.open(engine);
  const handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
  server = await listen(handler, { host: '127.0.0.1', port: 0 });
  kv = new FencedKv(server.url);
});

afterEach(async () => {
  await server.close(0);
});

describe('a bucket fenced by a held lock', () => {
  it('installs the token before anything is read', async () => {
    const old = await kv.bucket('accounts').fencedBy({ token: 41 });
    await old.put('42', 'before');
    const fresh = await kv.bucket('accounts').fencedBy({ token: 57 });
    const failure = await old.put('42', 'late').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StaleTokenError);
    expect(failure).toMatchObject({
      code: 'STALE_TOKEN',
      presented: 41,
      highest: 57,
      retryable: false,
      indeterminate: false,
    });
    expect(new TextDecoder().decode((await fresh.get('42'))?.value)).toBe('before');
    await expect(old.get('42')).rejects.toBeInstanceOf(StaleTokenError);
    await expect(old.list()).rejects.toBeInstanceOf(StaleTokenError);
    await expect(kv.bucket('accounts').fencedBy({ token: 41 })).rejects.toBeInstanceOf(StaleTokenError);
  });

  it('carries the floor of a lock that several hold, as it rises', async () => {
    const first = { token: 41, floor: 41 };
    const second = { token: 57, floor: 41 };
    const lost = await kv.bucket('exports').fencedBy(first);
    const alive = await kv.bucket('exports').fencedBy(second);
    await alive.put('k', 'of the second');
    await lost.put('k', 'of the first');
    expect(new TextDecoder().decode((await alive.get('k'))?.value)).toBe('of the first');
    second.floor = 57;
    // The read installs it first, so that what it sees is not about to be changed.
    expect(new TextDecoder().decode((await alive.get('k'))?.value)).toBe('of the first');
    await expect(lost.put('k', 'late')).rejects.toMatchObject({ code: 'STALE_TOKEN', presented: 41, highest: 57 });
    expect(await kv.bucket('exports').info()).toMatchObject({ highest: 57 });
  });

  it('of a lock of its own takes the tokens that the ensemble confirms, and no other', async () => {
    let failure: Error | undefined;
    const look = async (): Promise<LockLook> => {
      if (failure !== undefined) throw failure;
      return { held: { lowest: 57, highest: 57 }, index: 60 };
    };
    const bound = await FencedStore.open(engine, { authority: { look } });
    const handler = createHttpHandler({ store: bound, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
    const fetchHere: Fetch = async (input, init) => await handler(new Request(input, init));
    const bucket = new FencedKv(server.url, { fetch: fetchHere }).bucket('jobs');
    await bucket.create({ lock: 'jobs' });
    expect(await bucket.info()).toMatchObject({ lock: 'jobs', tokens: 'required' });
    const refused = await bucket.fencedBy({ token: 2 ** 53 - 1 }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(TokenNotGrantedError);
    expect(refused).toMatchObject({ presented: 2 ** 53 - 1, newest: 57, retryable: false, indeterminate: false });
    await bucket.fencedBy({ token: 57 });
    failure = new AuthorityError('nobody answers');
    await expect(bucket.fencedBy({ token: 60 })).rejects.toMatchObject({
      code: 'ENSEMBLE_UNREACHABLE',
      retryable: true,
      indeterminate: false,
    });
  });

  it('never tells a floor above its token, and lets others be where nobody has told one', async () => {
    await (await kv.bucket('a').fencedBy({ token: 57, floor: 99 })).put('k', 'v');
    expect(await kv.bucket('a').info()).toMatchObject({ highest: 57 });
    await (await kv.bucket('b').fencedBy({ token: 57, floor: 0 })).put('k', 'v');
    expect(await kv.bucket('b').info()).toMatchObject({ highest: 0 });
  });

  it('writes, reads, lists, deletes and batches', async () => {
    const accounts = await kv.bucket('accounts').fencedBy({ token: 57 });
    const value = Uint8Array.from({ length: 256 }, (_, index) => index);
    const { revision } = await accounts.put('a/b é', value);
    expect(await accounts.get('a/b é')).toEqual({ value, revision });
    await accounts.batch([
      { op: 'put', key: 'x', value: value.subarray(10, 20), ifRevision: null },
      { op: 'put', key: 'y', value: 'text' },
      { op: 'delete', key: 'a/b é', ifRevision: revision },
    ]);
    expect((await accounts.get('x'))?.value).toEqual(value.subarray(10, 20));
    expect((await accounts.list({ limit: 1 })).next).toBe('x');
    expect((await accounts.list({ after: 'x' })).keys).toEqual([{ key: 'y', revision: revision + 1, bytes: 4 }]);
    await accounts.delete('y');
    await accounts.delete('y');
    expect(await accounts.get('y')).toBeUndefined();
    expect(await accounts.info()).toMatchObject({ highest: 57, keys: 1 });
  });

  it('asks before every call whether the lock is still held, and sends nothing when it is not', async () => {
    let lost = false;
    const accounts = await kv.bucket('accounts').fencedBy({
      token: 57,
      assertHeld() {
        if (lost) throw new Error('lock lost');
      },
    });
    lost = true;
    await expect(accounts.put('42', 'late')).rejects.toThrow('lock lost');
    await expect(accounts.get('42')).rejects.toThrow('lock lost');
    expect(await kv.bucket('accounts').get('42')).toBeUndefined();
    await expect(
      kv.bucket('accounts').fencedBy({
        token: 60,
        assertHeld: () => {
          throw new Error('lock lost');
        },
      }),
    ).rejects.toThrow('lock lost');
    expect(await kv.bucket('accounts').info()).toMatchObject({ highest: 57 });
  });

  it('ends a call under way when the lock is lost, and says that the write may have happened', async () => {
    const controller = new AbortController();
    const hanging: Fetch = async (_input, init) =>
      await new Promise((_resolve, reject) => {
        init.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error));
        controller.abort(new Error('lock lost'));
      });
    const install: Fetch = async (input, init) => await fetch(input, init);
    let current = install;
    const subject = new FencedKv(server.url, { fetch: async (input, init) => await current(input, init) });
    const accounts = await subject.bucket('accounts').fencedBy({ token: 57, signal: controller.signal });
    current = hanging;
    await expect(accounts.put('42', 'v')).rejects.toMatchObject({
      name: 'AbortError',
      code: 'ABORTED',
      indeterminate: true,
    });
    await expect(accounts.put('42', 'v')).rejects.toMatchObject({ code: 'ABORTED', indeterminate: false });
  });

  it('reports a token whose installation an operator has taken back', async () => {
    const accounts = await kv.bucket('accounts').fencedBy({ token: 57 });
    await store.resetFence('accounts', 3);
    const failure = await accounts.get('42').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TokenNotInstalledError);
    expect(failure).toMatchObject({ presented: 57, highest: 3 });
  });

  it('compares revisions where it is asked to', async () => {
    const accounts = await kv.bucket('accounts').fencedBy({ token: 57 });
    const { revision } = await accounts.put('42', '1', { ifRevision: null });
    const failure = await accounts.put('42', '2', { ifRevision: null }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(PreconditionFailedError);
    expect(failure).toMatchObject({ key: '42', revision });
    await expect(accounts.delete('42', { ifRevision: revision + 1 })).rejects.toBeInstanceOf(PreconditionFailedError);
    await accounts.delete('42', { ifRevision: revision });
  });
});

describe('a bucket without a token', () => {
  it('is read, but takes no writes by default', async () => {
    const bucket = kv.bucket('accounts');
    expect([await bucket.get('42'), await bucket.info(), await bucket.list()]).toEqual([
      undefined,
      undefined,
      { keys: [], next: null },
    ]);
    await expect(bucket.put('42', 'v')).rejects.toBeInstanceOf(TokenRequiredError);
  });

  it('takes writes where its tokens are optional', async () => {
    const bucket = kv.bucket('control');
    await bucket.create({ tokens: 'optional' });
    await bucket.create({ tokens: 'optional' });
    await bucket.fencedBy({ token: 57 });
    await bucket.put('42', 'late');
    expect((await bucket.get('42'))?.value).toEqual(new TextEncoder().encode('late'));
    await expect(bucket.create({ tokens: 'required' })).rejects.toMatchObject({ code: 'BUCKET_EXISTS' });
  });
});

describe('a failure', () => {
  it('to reach a server is retryable, and definite where nothing listens', async () => {
    const { url } = server;
    await server.close(0);
    const failure = await new FencedKv(url)
      .bucket('b')
      .fencedBy({ token: 1 })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(FencedKvError);
    expect(failure).toMatchObject({ code: 'CONNECTION', retryable: true, indeterminate: false });
  });

  it("of the server's disk says whether the write may have happened", async () => {
    const accounts = await kv.bucket('accounts').fencedBy({ token: 57 });
    engine.failNext();
    await expect(accounts.put('42', 'v')).rejects.toMatchObject({
      code: 'DISK_ERROR',
      retryable: true,
      indeterminate: true,
    });
    await expect(accounts.put('42', 'v')).rejects.toMatchObject({
      code: 'DISK_ERROR',
      retryable: true,
      indeterminate: false,
    });
  });
});

describe('a call', () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

  it.each(['succeeds', 'is refused', 'finds nobody', 'is aborted'])(
    'that %s leaves no timer and no listener behind',
    async (how) => {
      const holder = new AbortController();
      const bucket = await kv.bucket('accounts').fencedBy({ token: 57, signal: holder.signal });
      const nobody = new FencedKv('http://127.0.0.1:1').bucket('accounts');
      const before = timers();
      const signals: AbortSignal[] = [];
      for (let call = 0; call < 20; call += 1) {
        const own = new AbortController();
        signals.push(own.signal);
        const subject = how === 'finds nobody' ? nobody : bucket;
        const ended = subject.put('42', 'v', { signal: own.signal, ...(how === 'is refused' && { ifRevision: 999 }) });
        if (how === 'is aborted') own.abort(new Error('enough'));
        if (how === 'succeeds') await ended;
        else await expect(ended).rejects.toBeInstanceOf(FencedKvError);
      }
      expect(timers()).toBeLessThanOrEqual(before);
      for (const each of [holder.signal, ...signals]) expect(getEventListeners(each, 'abort')).toEqual([]);
    },
  );
});

describe('a real server', () => {
  it('writes with a time to live, and says what is left of it', async () => {
    let now = 0;
    const clock = { wallMs: () => 0, monotonicMs: () => now };
    const timed = await FencedStore.open(engine, { clock });
    const handler = createHttpHandler({ store: timed, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
    const fetchHere: Fetch = async (input, init) => await handler(new Request(input, init));
    const bucket = await new FencedKv(server.url, { fetch: fetchHere }).bucket('b').fencedBy({ token: 1 });
    await bucket.put('k', 'v', { ttlMs: 1_000 });
    await bucket.batch([{ op: 'put', key: 'l', value: 'v', ttlMs: 2_000 }]);
    now = 400;
    expect(await bucket.get('k')).toMatchObject({ expiresInMs: 600 });
    expect((await bucket.list()).keys).toMatchObject([{ expiresInMs: 600 }, { expiresInMs: 1_600 }]);
    now = 1_000;
    expect(await bucket.get('k')).toBeUndefined();
    await expect(bucket.put('k', 'v', { ttlMs: 0 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('follows the changes of a bucket over connections that break, until the loop is left', async () => {
    const bucket = await kv.bucket('b').fencedBy({ token: 1 });
    await bucket.put('a', 'v');
    const from = (await bucket.info())?.revision;
    const seen: number[] = [];
    const done = (async () => {
      for await (const { revision, changes } of bucket.changes({ from })) {
        expect(changes).toEqual([{ type: 'put', key: `k${revision}`, bytes: 1 }]);
        seen.push(revision);
        if (revision === 6) break;
      }
    })();
    await bucket.put('k2', 'v');
    await expect.poll(() => seen).toEqual([2]);
    await bucket.put('k3', 'v');
    const { port } = new URL(server.url);
    await server.close(0);
    const written = async (key: string): Promise<unknown> =>
      await store.write('b', [{ key, value: new Uint8Array(1) }], { token: 1 });
    await written('k4');
    const handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
    server = await listen(handler, { host: '127.0.0.1', port: Number(port) });
    await written('k5');
    await written('k6');
    await done;
    expect(seen).toEqual([2, 3, 4, 5, 6]);
  });

  it('says where changes were missed, what a bucket is that is not there, and that it was aborted', async () => {
    const bucket = await kv.bucket('b').fencedBy({ token: 1 });
    await bucket.put('a', 'v');
    const first = async (options: { from?: number; signal?: AbortSignal }, of = bucket): Promise<unknown> => {
      for await (const change of of.changes(options)) return change;
      return undefined;
    };
    const missed = await first({ from: 99 }).catch((error: unknown) => error);
    expect(missed).toBeInstanceOf(ChangesMissedError);
    expect(missed).toMatchObject({ code: 'MISSED', from: 99, retryable: false });
    await expect(first({}, kv.bucket('nowhere'))).rejects.toMatchObject({ code: 'BUCKET_NOT_FOUND' });
    const controller = new AbortController();
    const waiting = first({ signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await expect(waiting).rejects.toMatchObject({ code: 'ABORTED' });
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('streams a large value in both directions', async () => {
    const accounts = await kv.bucket('accounts').fencedBy({ token: 57 });
    const value = Uint8Array.from({ length: 5_000_000 }, (_, index) => (index * 31 + (index >>> 16)) & 0xff);
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (sent >= value.length) controller.close();
        else controller.enqueue(value.slice(sent, (sent += 70_001)));
      },
    });
    const { revision } = await accounts.put('large', body);
    const found = await accounts.getStream('large');
    expect(found).toMatchObject({ revision, bytes: value.length });
    const pieces: Uint8Array[] = [];
    for await (const piece of found?.body ?? []) pieces.push(piece);
    expect(Buffer.compare(Buffer.concat(pieces), value)).toBe(0);
    expect(await accounts.getStream('nothing')).toBeUndefined();
    await accounts.put('small', 'v');
    expect(await new Response((await accounts.getStream('small'))?.body ?? null).text()).toBe('v');
  });

  it('ends the stream of a value with the lock, and leaves no listener behind', async () => {
    const controller = new AbortController();
    const accounts = await kv.bucket('accounts').fencedBy({ token: 57, signal: controller.signal });
    await accounts.put('large', new Uint8Array(5_000_000));
    const given = await accounts.getStream('large');
    await given?.body.cancel();
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    const found = await accounts.getStream('large');
    const reader = found?.body.getReader();
    await reader?.read();
    controller.abort(new Error('lock lost'));
    const drain = async (): Promise<void> => {
      while ((await reader?.read())?.done === false);
    };
    await expect(drain()).rejects.toMatchObject({ code: 'ABORTED' });
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('answers a body that is too long instead of cutting the connection', async () => {
    const accounts = await kv.bucket('accounts').fencedBy({ token: 57 });
    await expect(accounts.put('42', new Uint8Array(17 * 1024 * 1024))).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
    });
    await accounts.put('42', new Uint8Array(16 * 1024 * 1024).fill(7));
    const found = (await accounts.get('42'))?.value ?? new Uint8Array();
    expect(Buffer.compare(found, new Uint8Array(16 * 1024 * 1024).fill(7))).toBe(0);
  });

  it('finishes the requests under way when it stops, and cuts off those that never end', async () => {
    const inner = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
    const arrived = signal();
    const gate = signal();
    const slow = await listen(
      async (request) => {
        arrived.fire();
        await gate.fired;
        return await inner(request);
      },
      { host: '127.0.0.1', port: 0 },
    );
    const write = new FencedKv(slow.url).bucket('b').fencedBy({ token: 57 });
    await arrived.fired;
    const closed = slow.close(60_000);
    gate.fire();
    await write;
    await closed;
    await expect(new FencedKv(slow.url).bucket('b').get('k')).rejects.toMatchObject({ code: 'CONNECTION' });

    const reached = signal();
    const hanging = await listen(
      async () => {
        reached.fire();
        return await new Promise<Response>(() => {});
      },
      { host: '127.0.0.1', port: 0 },
    );
    const cut = expect(new FencedKv(hanging.url).bucket('b').fencedBy({ token: 57 })).rejects.toMatchObject({
      indeterminate: true,
    });
    await reached.fired;
    await hanging.close(0);
    await cut;
  });
});

function signal(): { readonly fired: Promise<void>; readonly fire: () => void } {
  let fire = (): void => {};
  const fired = new Promise<void>((resolve) => {
    fire = resolve;
  });
  return { fired, fire: () => fire() };
}
