/** What operators ask a running server for, without the socket: what is done, what is refused and why, and what the log says of it. */

import { Writable } from 'node:stream';

import { silentLogger } from '@holdfast/runtime';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';

import { AdminError } from '../../src/admin/admin-error.ts';
import { createAdminHandler } from '../../src/admin/admin-handler.ts';
import type { AdminTarget } from '../../src/admin/admin-handler.ts';
import { streamBackup } from '../../src/admin/backup-stream.ts';
import type { LockAuthority } from '../../src/confirmation.ts';
import type { Snapshot } from '../../src/engines/engine.ts';
import { FencedStore } from '../../src/fenced-store.ts';
import { hostPolicy } from '../../src/http/guard.ts';
import { createHttpHandler, type HttpHandler } from '../../src/http/handler.ts';
import { NotPrimaryError, onlyStore } from '../../src/http/store-source.ts';
import { memoryEngine, type MemoryEngine } from '../support/memory-engine.ts';
import { refusalOf } from '../support/refusal-of.ts';

const BIND = '/admin/v1/buckets/accounts/bind';
const RESET = '/admin/v1/buckets/accounts/reset-fence';
const BACKUP = '/admin/v1/backup';
const VALUE = new TextEncoder().encode('v');

let engine: MemoryEngine;
let store: FencedStore;
let open: Set<Snapshot>;
let lines: Record<string, unknown>[];
let handler: HttpHandler;

/** Nobody writes meanwhile, so the engine is its own snapshot. */
function snapshot(): Snapshot {
  const taken: Snapshot = { read: (body) => engine.read(body), close: () => open.delete(taken) };
  open.add(taken);
  return taken;
}

function handlerOf(target: AdminTarget): HttpHandler {
  const heard = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  return createAdminHandler(target, { logger: pino({}, heard) });
}

beforeEach(async () => {
  engine = memoryEngine();
  store = await FencedStore.open(engine);
  open = new Set();
  lines = [];
  handler = handlerOf({ source: onlyStore(store), snapshot: async () => await Promise.resolve(snapshot()) });
  await store.write('accounts', [{ key: 'k', value: VALUE }], { token: 57 });
});

async function post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  const sent = { 'content-type': 'application/json', operator: 'alice', ...headers };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return await handler(new Request(`http://localhost${path}`, { method: 'POST', headers: sent, body: text }));
}

async function answer(response: Response | Promise<Response>): Promise<[number, unknown]> {
  const { status, body } = await response;
  return [status, await new Response(body).json()];
}

describe('an operator who binds a bucket of a running server', () => {
  it('changes the lock, is told the one before, and may do it again', async () => {
    expect(await answer(post(BIND, { lock: 'jobs' }))).toEqual([
      200,
      { bucket: 'accounts', lock: 'jobs', previous: null },
    ]);
    const { commits } = engine.figures;
    expect(await answer(post(BIND, { lock: 'jobs' }))).toEqual([
      200,
      { bucket: 'accounts', lock: 'jobs', previous: 'jobs' },
    ]);
    expect([engine.figures.commits - commits, store.info('accounts').lock]).toEqual([1, 'jobs']);
    expect(lines).toMatchObject([
      { what: 'bind', bucket: 'accounts', operator: 'alice', lock: 'jobs', previous: null },
      { what: 'bind', bucket: 'accounts', operator: 'alice', lock: 'jobs', previous: 'jobs' },
    ]);
  });

  it('has tokens of the new lock confirmed, which the one before had given', async () => {
    const looks: string[] = [];
    const authority: LockAuthority = {
      look: async (lock) => {
        looks.push(lock);
        return await Promise.resolve({ held: undefined, index: 100 });
      },
    };
    store = await FencedStore.open(engine, { authority });
    handler = handlerOf({ source: onlyStore(store), snapshot: async () => await Promise.reject(new Error('none')) });
    await post(BIND, { lock: 'jobs' });
    await store.install('accounts', 90, 60);
    // Known to be given, so it is not asked for again.
    await store.write('accounts', [{ key: 'k', value: VALUE }], { token: 90, floor: 60 });
    expect(looks).toEqual(['jobs']);
    await post(BIND, { lock: 'others' });
    await store.write('accounts', [{ key: 'k', value: VALUE }], { token: 90, floor: 60 });
    expect(looks).toEqual(['jobs', 'others']);
    await post(RESET, { to: 0, from: 60 });
    await store.write('accounts', [{ key: 'k', value: VALUE }], { token: 90, floor: 0 });
    expect(looks).toEqual(['jobs', 'others', 'others']);
  });

  it('during a look at the lock before has the claim looked at anew', async () => {
    const looks: string[] = [];
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const authority: LockAuthority = {
      look: async (lock) => {
        looks.push(lock);
        if (lock === 'jobs') await gate;
        return { held: undefined, index: lock === 'jobs' ? 100 : 80 };
      },
    };
    store = await FencedStore.open(engine, { authority });
    await store.bind('accounts', 'jobs');
    const refused = refusalOf(async () => await store.install('accounts', 90));
    await expect.poll(() => looks).toEqual(['jobs']);
    await store.bind('accounts', 'others');
    release();
    expect(await refused).toEqual({ code: 'TOKEN_NOT_GRANTED', lock: 'others', presented: 90, newest: 80 });
  });
});

describe('an operator who resets the fence of a running server', () => {
  it('must say from which highest token, where that lowers it', async () => {
    const [status, body] = await answer(post(RESET, { to: 5 }));
    expect([status, body]).toMatchObject([
      409,
      { code: 'CONFIRMATION_NEEDED', message: expect.stringContaining('--from 57') },
    ]);
    expect(await answer(post(RESET, { to: 5, from: 56 }))).toMatchObject([409, { code: 'FENCE_MOVED' }]);
    expect(store.info('accounts').highest).toBe(57);
    expect(await answer(post(RESET, { to: 5, from: 57 }))).toEqual([
      200,
      { bucket: 'accounts', highest: 5, previous: 57 },
    ]);
    await store.write('accounts', [{ key: 'k', value: VALUE }], { token: 6 });
    expect(lines).toMatchObject([
      { what: RESET, bucket: 'accounts', operator: 'alice', err: { code: 'CONFIRMATION_NEEDED' } },
      { what: RESET, err: { code: 'FENCE_MOVED' } },
      { what: 'reset-fence', bucket: 'accounts', operator: 'alice', highest: 5, previous: 57 },
    ]);
  });

  it('may do it again after an answer was lost, and raise a fence at once', async () => {
    await post(RESET, { to: 5, from: 57 });
    expect(await answer(post(RESET, { to: 5, from: 57 }))).toEqual([
      200,
      { bucket: 'accounts', highest: 5, previous: 5 },
    ]);
    expect(await answer(post(RESET, { to: '0000000000000070' }))).toEqual([
      200,
      { bucket: 'accounts', highest: 70, previous: 5 },
    ]);
    expect(await refusalOf(async () => await store.install('accounts', 69))).toMatchObject({ code: 'STALE_TOKEN' });
    await post(RESET, { to: 60, from: 70 });
    // A holder was there in between: what the operator has seen is not what is.
    await store.install('accounts', 80);
    expect(await answer(post(RESET, { to: 5, from: 70 }))).toMatchObject([409, { code: 'FENCE_MOVED' }]);
  });
});

describe('an operator who sends something odd', () => {
  it.each([
    [400, 'lock', BIND, {}],
    [400, 'lock', BIND, { lock: 5 }],
    [400, 'lock', BIND, { lock: null }],
    [400, 'lock', BIND, { lock: '' }],
    [400, 'lock', BIND, { lock: 'a\nb' }],
    [413, 'lock', BIND, { lock: 'x'.repeat(257) }],
    [400, 'unknown field', BIND, { lock: 'jobs', force: true }],
    [400, 'not a JSON object', BIND, ['jobs']],
    [400, 'not JSON', BIND, '{"lock":'],
    [400, 'not JSON', BIND, ''],
    [413, 'at most 4096 bytes', BIND, { lock: 'x'.repeat(5_000) }],
    [404, 'does not exist', '/admin/v1/buckets/nobody/bind', { lock: 'jobs' }],
    [400, "bucket's name", '/admin/v1/buckets/a%2Fb/bind', { lock: 'jobs' }],
    [400, "bucket's name", '/admin/v1/buckets/%00/bind', { lock: 'jobs' }],
    [400, 'token or 0', RESET, {}],
    [400, 'token or 0', RESET, { to: null }],
    [400, 'token or 0', RESET, { to: -1 }],
    [400, 'token or 0', RESET, { to: 1.5 }],
    [400, 'token or 0', RESET, { to: '0x10' }],
    [400, 'token or 0', RESET, { to: ' 5' }],
    [400, 'token or 0', RESET, { to: '9007199254740992' }],
    [400, 'token or 0', RESET, '{"to":9007199254740992}'],
    [400, 'token or 0', RESET, { to: true }],
    [400, 'present highest', RESET, { to: 5, from: '' }],
    [400, 'present highest', RESET, { to: 5, from: Number.NaN }],
    [400, 'unknown field', RESET, { to: 5, confirm: true }],
    [404, 'does not exist', '/admin/v1/buckets/nobody/reset-fence', { to: 5 }],
    [404, 'nothing at', '/admin/v1/buckets/accounts/delete', {}],
    [404, 'nothing at', '/v1/buckets/accounts/fence', { token: 99 }],
  ])('is answered %i: %s', async (status, message, path, body) => {
    const [found, said] = await answer(post(path, body));
    expect([found, said]).toMatchObject([status, { message: expect.stringContaining(message) }]);
    expect(store.info('accounts')).toMatchObject({ highest: 57, lock: null });
  });

  it('is told the type that the body is to have', async () => {
    expect(await answer(post(BIND, { lock: 'jobs' }, { 'content-type': 'text/plain' }))).toMatchObject([
      415,
      { code: 'UNSUPPORTED_MEDIA_TYPE' },
    ]);
  });
});

describe('a client on its own port', () => {
  it('finds nothing of what is for operators', async () => {
    const clients = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
    for (const [method, path] of [
      ['POST', BIND],
      ['POST', RESET],
      ['GET', BACKUP],
    ] as const) {
      const body = method === 'POST' ? '{"lock":"jobs"}' : null;
      const headers = { 'content-type': 'application/json' };
      const { status } = await clients(new Request(`http://127.0.0.1:7400${path}`, { method, headers, body }));
      expect(status).toBe(404);
    }
    expect(store.info('accounts').lock).toBeNull();
  });
});

describe('a replica that does not serve', () => {
  it('changes nothing, and says where the primary is', async () => {
    const primary = { replica: 'r2', url: 'http://10.0.0.2:7400' };
    const source = {
      present: (): never => {
        throw new NotPrimaryError({ replica: 'r1', primary, epoch: 5 });
      },
      group: undefined,
    };
    const notInSync = new AdminError('NOT_IN_SYNC', 'take it elsewhere');
    handler = handlerOf({ source, snapshot: async () => await Promise.reject(notInSync) });
    const refused = [503, { code: 'NOT_PRIMARY', message: expect.stringContaining('r2 at http://10.0.0.2:7400') }];
    expect(await answer(post(BIND, { lock: 'jobs' }))).toMatchObject(refused);
    expect(await answer(post(RESET, { to: 0 }))).toMatchObject(refused);
    const backup = handler(new Request(`http://localhost${BACKUP}`));
    expect(await answer(backup)).toMatchObject([409, { code: 'NOT_IN_SYNC' }]);
    // One that was refused is not under way.
    const again = handler(new Request(`http://localhost${BACKUP}`));
    expect(await answer(again)).toMatchObject([409, { code: 'NOT_IN_SYNC' }]);
  });
});

describe('a backup of a running server', () => {
  const take = async (): Promise<Response> => await handler(new Request(`http://localhost${BACKUP}`));

  it('is one at a time, and gives its snapshot back at its end', async () => {
    const first = await take();
    expect([first.status, open.size]).toEqual([200, 1]);
    expect(await answer(take())).toMatchObject([409, { code: 'BACKUP_UNDER_WAY' }]);
    await first.arrayBuffer();
    expect(open.size).toBe(0);
    const second = await take();
    await second.body?.cancel();
    await expect.poll(() => open.size).toBe(0);
    expect((await take()).status).toBe(200);
    expect(lines.map(({ msg }) => msg)).toEqual([
      'a backup begins',
      "an operator's request was refused",
      'a backup was taken',
      'a backup begins',
      'a backup was not taken to its end',
      'a backup begins',
    ]);
  });

  it('is cut, and closed, where its reader takes nothing for too long', async () => {
    const large = new Uint8Array(1024 * 1024);
    for (const key of ['a', 'b', 'c', 'd']) await store.write('accounts', [{ key, value: large }], { token: 57 });
    const outcomes: unknown[] = [];
    const stream = streamBackup(snapshot(), { ended: (outcome) => outcomes.push(outcome), stallMs: 20 });
    await expect.poll(() => open.size).toBe(0);
    expect(outcomes).toMatchObject([{ message: 'nothing of the backup was taken for 20 ms' }]);
    await expect(new Response(stream).arrayBuffer()).rejects.toThrow('nothing of the backup was taken');
  });

  it('lets other requests have their turns, however fast it is read', async () => {
    const large = new Uint8Array(1024 * 1024);
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f'])
      await store.write('accounts', [{ key, value: large }], { token: 57 });
    let turns = 0;
    let going = true;
    const count = (): void => {
      turns += 1;
      if (going) setImmediate(count);
    };
    setImmediate(count);
    await (await take()).arrayBuffer();
    going = false;
    expect(turns).toBeGreaterThanOrEqual(6);
  });
});
