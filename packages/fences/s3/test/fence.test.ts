import type { S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { collect, fence, FenceError, highest, install, read, verifyStorage, type S3Storage } from '../src/index.ts';
import { BUCKET, clientOf } from './support/cells.ts';
import { startS3Server, type S3Server } from './support/s3-server.ts';

let server: S3Server;
let client: S3Client;
let storage: S3Storage;
let places = 0;

beforeAll(async () => {
  server = await startS3Server([BUCKET]);
  // Each lost answer is seen by the fence, and not made good by the client.
  client = clientOf(server, 1);
});
afterAll(async () => {
  client?.destroy();
  await server?.close();
});
beforeEach(() => {
  places += 1;
  storage = { client, bucket: BUCKET, prefix: `place-${places}/` };
  server.fault = () => undefined;
});

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** More than a manifest has in itself. */
const LARGE = 'x'.repeat(4_097);

const textOf = (data: Uint8Array | undefined): string | undefined =>
  data === undefined ? undefined : Buffer.from(data).toString();

/** The faults of requests for the manifest with that method, in order; then none. */
function onManifest(method: string, ...faults: readonly ReturnType<S3Server['fault']>[]): void {
  const left = [...faults];
  server.fault = (asked, key) => (asked === method && key.endsWith('manifest.json') ? left.shift() : undefined);
}

async function add(holder: { readonly token: number; readonly floor?: number }): Promise<number> {
  return await fence(storage, 'jobs', holder, async (tx) => {
    const count = Number(textOf(await tx.read('count')) ?? '0') + 1;
    await tx.write('count', `${count}`);
    return count;
  });
}

describe('a file that is read, changed and written under a lock', () => {
  it('loses no change of many at once under one token, and none of those who share a lock', async () => {
    await Promise.all(Array.from({ length: 12 }, () => add({ token: 7 })));
    expect(textOf(await read(storage, 'jobs', 'count'))).toBe('12');
    await Promise.all(Array.from({ length: 6 }, (_, place) => add({ token: 10 + place, floor: 8 })));
    expect(textOf(await read(storage, 'jobs', 'count'))).toBe('18');
    expect(await highest(storage, 'jobs')).toBe(8);
  });

  it('waits twice for the storage when its holder writes again: for the manifest, and for the one with the file in it', async () => {
    const holder = { token: 7 };
    await fence(storage, 'jobs', holder, (tx) => tx.write('a', 'first'));
    const before = server.requests.length;
    await fence(storage, 'jobs', holder, (tx) => tx.write('a', 'second'));
    expect(server.requests.slice(before).map(({ method }) => method)).toEqual(['GET', 'PUT']);
    expect(textOf(await read(storage, 'jobs', 'a'))).toBe('second');
    const between = server.requests.length;
    await fence(storage, 'jobs', holder, (tx) => tx.write('large', LARGE));
    expect(server.requests.slice(between).map(({ method }) => method)).toEqual(['GET', 'PUT', 'PUT']);
    expect(textOf(await read(storage, 'jobs', 'large'))).toBe(LARGE);
  });

  it('is what another client of the same holder published', async () => {
    const other = { ...storage, client: clientOf(server, 1) };
    const holder = { token: 7 };
    await fence(storage, 'jobs', holder, (tx) => tx.write('a', 'first'));
    await fence(other, 'jobs', holder, (tx) => tx.write('a', 'second'));
    const seen: (string | undefined)[] = [];
    await fence(storage, 'jobs', holder, async (tx) => seen.push(textOf(await tx.read('a'))));
    expect(seen).toEqual(['second']);
    other.client.destroy();
  });

  it('whose holder is stale is told so before its body is run, though its client has seen no newer one', async () => {
    const other = { ...storage, client: clientOf(server, 1) };
    await fence(storage, 'jobs', { token: 5 }, (tx) => tx.write('a', 'first'));
    await install(other, 'jobs', { token: 7 });
    let ran = false;
    const late = fence(storage, 'jobs', { token: 5 }, async () => {
      ran = true;
    });
    expect(await failureOf(late)).toMatchObject({ code: 'STALE_TOKEN', highest: 7 });
    expect(ran).toBe(false);
    other.client.destroy();
  });

  it('is published with all that the body wrote, or with nothing of it', async () => {
    await fence(storage, 'jobs', { token: 5 }, async (tx) => {
      await tx.write('a', 'one');
      await tx.write('b', new Uint8Array([0, 255]));
      expect(textOf(await tx.read('a'))).toBe('one');
      expect(tx.names()).toEqual(['a', 'b']);
    });
    const error = new Error('of the body');
    const failed = fence(storage, 'jobs', { token: 5 }, async (tx) => {
      await tx.write('a', 'two');
      expect(tx.remove('b')).toBe(true);
      expect(tx.remove('c')).toBe(false);
      throw error;
    });
    expect(await failureOf(failed)).toBe(error);
    expect(textOf(await read(storage, 'jobs', 'a'))).toBe('one');
    expect(await read(storage, 'jobs', 'b')).toEqual(new Uint8Array([0, 255]));
    await fence(storage, 'jobs', { token: 5 }, async (tx) => tx.remove('b'));
    expect(await read(storage, 'jobs', 'b')).toBeUndefined();
  });

  it('is not published when a signal aborts, or the lock turns out to be lost, before its end', async () => {
    const lost = new AbortController();
    const aborted = fence(storage, 'jobs', { token: 5, signal: lost.signal }, async (tx) => {
      await tx.write('a', 'one');
      lost.abort(new Error('lost'));
    });
    expect(await failureOf(aborted)).toMatchObject({
      code: 'ABORTED',
      indeterminate: false,
      cause: lost.signal.reason,
    });
    let held = true;
    const assertHeld = (): void => {
      if (!held) throw new RangeError('not held');
    };
    const late = fence(storage, 'jobs', { token: 5, assertHeld }, async (tx) => {
      await tx.write('a', 'one');
      held = false;
    });
    expect(await failureOf(late)).toBeInstanceOf(RangeError);
    expect(await failureOf(install(storage, 'jobs', { token: 5 }, { signal: AbortSignal.abort() }))).toMatchObject({
      code: 'ABORTED',
    });
    expect(await read(storage, 'jobs', 'a')).toBeUndefined();
  });

  it('cannot be written behind the end of the body', async () => {
    let late: (() => Promise<void>) | undefined;
    await fence(storage, 'jobs', { token: 5 }, async (tx) => {
      late = () => tx.write('a', 'late');
    });
    expect(await failureOf(late?.() ?? Promise.resolve())).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('an answer that is lost', () => {
  it('is found again by the id in the manifest: what was published is not done twice', async () => {
    await install(storage, 'jobs', { token: 5 });
    onManifest('PUT', 'lose');
    expect(await add({ token: 5 })).toBe(1);
    expect(textOf(await read(storage, 'jobs', 'count'))).toBe('1');
  });

  it('that never arrived is sent again', async () => {
    await install(storage, 'jobs', { token: 5 });
    onManifest('PUT', 'drop', 'unavailable');
    expect(await add({ token: 5 })).toBe(1);
    expect(textOf(await read(storage, 'jobs', 'count'))).toBe('1');
  });

  it('and stays lost is an outcome that is unknown', async () => {
    await install(storage, 'jobs', { token: 5 });
    onManifest('PUT', 'drop', 'drop', 'drop');
    expect(await failureOf(add({ token: 5 }))).toMatchObject({
      code: 'CONNECTION',
      indeterminate: true,
      retryable: false,
    });
  });

  it('of a read, or of data, has changed nothing', async () => {
    onManifest('GET', 'drop');
    expect(await failureOf(add({ token: 5 }))).toMatchObject({
      code: 'CONNECTION',
      indeterminate: false,
      retryable: true,
    });
    server.fault = (method, key) => (method === 'PUT' && key.includes('/data/') ? 'unavailable' : undefined);
    const large = fence(storage, 'jobs', { token: 5 }, (tx) => tx.write('count', LARGE));
    expect(await failureOf(large)).toMatchObject({ code: 'CONNECTION', indeterminate: false });
    server.fault = () => undefined;
    expect(await read(storage, 'jobs', 'count')).toBeUndefined();
  });

  it('behind which a newer holder came is known to be not published', async () => {
    await install(storage, 'jobs', { token: 5 });
    let puts = 0;
    server.fault = (method, key) => {
      if (method !== 'PUT' || !key.endsWith('manifest.json')) return undefined;
      puts += 1;
      return puts === 1 ? 'drop' : undefined;
    };
    let gets = 0;
    const newer = { send: client.send.bind(client) };
    const racing: S3Storage = {
      ...storage,
      client: {
        send: (async (...args: Parameters<S3Client['send']>) => {
          const name = args[0].constructor.name;
          if (name === 'GetObjectCommand' && puts === 1 && gets === 0) {
            gets += 1;
            await install(storage, 'jobs', { token: 7 });
          }
          return newer.send(...args);
        }) as unknown as S3Client['send'],
      },
    };
    const failed = fence(racing, 'jobs', { token: 5 }, (tx) => tx.write('a', 'stale'));
    expect(await failureOf(failed)).toMatchObject({ code: 'STALE_TOKEN', highest: 7, indeterminate: false });
    expect(await read(storage, 'jobs', 'a')).toBeUndefined();
  });
});

describe('the storage', () => {
  it('is asked again where it was busy with another write of the manifest (409)', async () => {
    onManifest('PUT', 'conflict', 'conflict');
    expect(await add({ token: 5 })).toBe(1);
  });

  it('must judge conditions, which a call finds out', async () => {
    await verifyStorage(storage);
    server.fault = () => 'ignore-conditions';
    expect(await failureOf(verifyStorage(storage))).toMatchObject({ code: 'RESOURCE' });
    server.fault = () => undefined;
    expect(server.keys(BUCKET).filter((key) => key.startsWith(`${storage.prefix}probe`))).toEqual([]);
  });

  it('has a bucket', async () => {
    const nowhere = { ...storage, bucket: 'nowhere' };
    for (const call of [
      () => install(nowhere, 'jobs', { token: 5 }),
      () => read(nowhere, 'jobs', 'a'),
      () => verifyStorage(nowhere),
    ]) {
      expect(await failureOf(call())).toMatchObject({
        code: 'SCHEMA_MISSING',
        message: expect.stringContaining('"nowhere"'),
      });
    }
  });

  it.each([
    ['{"format":2,"floor":9}', 'SCHEMA_VERSION'],
    ['{"format":1,"floor":-1,"revision":1,"recent":[],"files":[]}', 'RESOURCE'],
    ['{"format":1,"floor":1,"revision":1,"recent":[],"files":[["a",{}]]}', 'RESOURCE'],
    ['hello', 'RESOURCE'],
    ['', 'RESOURCE'],
  ])('refuses to guess at a manifest %s', async (text, code) => {
    server.put(BUCKET, `${storage.prefix}scope-jobs/manifest.json`, text);
    expect(await failureOf(add({ token: 5 }))).toMatchObject({ code, indeterminate: false });
    expect(server.text(BUCKET, `${storage.prefix}scope-jobs/manifest.json`)).toBe(text);
  });

  it('is collected of what older holders left, and of nothing else', async () => {
    await fence(storage, 'jobs', { token: 5 }, async (tx) => {
      for (const name of ['a', 'b', 'c', 'd', 'e']) await tx.write(name, name + LARGE);
    });
    await fence(storage, 'jobs', { token: 5 }, (tx) => tx.write('a', `newer${LARGE}`));
    expect(await collect(storage, 'jobs')).toBe(0);
    const data = (): number =>
      server.keys(BUCKET).filter((key) => key.startsWith(`${storage.prefix}scope-jobs/data/`)).length;
    expect(data()).toBe(6);
    await install(storage, 'jobs', { token: 7 });
    expect(await collect(storage, 'jobs')).toBe(1);
    expect(data()).toBe(5);
    expect(textOf(await read(storage, 'jobs', 'a'))).toBe(`newer${LARGE}`);
    expect(await collect(storage, 'nothing')).toBe(0);
  });

  it('says what is missing where somebody deleted data', async () => {
    await fence(storage, 'jobs', { token: 5 }, (tx) => tx.write('count', LARGE));
    for (const key of server.keys(BUCKET)) {
      if (key.startsWith(`${storage.prefix}scope-jobs/data/`)) server.delete(BUCKET, key);
    }
    expect(await failureOf(add({ token: 5 }))).toMatchObject({
      code: 'RESOURCE',
      message: expect.stringContaining('gone'),
    });
  });
});

describe('the arguments of a call', () => {
  it.each([undefined, null, 's3://fenced', {}, { client: {}, bucket: 'b' }, { client: { send: () => 1 } }])(
    'have no storage %j',
    async (wrong) => {
      const given = wrong as unknown as S3Storage;
      for (const call of [
        fence(given, 'jobs', { token: 5 }, async () => 1),
        install(given, 'jobs', { token: 5 }),
        highest(given, 'jobs'),
        read(given, 'jobs', 'a'),
        collect(given, 'jobs'),
        verifyStorage(given),
      ]) {
        expect(await failureOf(call)).toMatchObject({ code: 'INVALID_ARGUMENT' });
      }
    },
  );

  it('are refused before anything is sent', async () => {
    const before = server.requests.length;
    const calls: readonly Promise<unknown>[] = [
      fence({ ...storage, buckt: 1 } as S3Storage, 'jobs', { token: 5 }, async () => 1),
      fence(storage, '', { token: 5 }, async () => 1),
      fence(storage, 'jobs', { token: 0 }, async () => 1),
      fence(storage, 'jobs', { token: 5, floor: 6 }, async () => 1),
      fence(storage, 'jobs', { token: 5 }, 'body' as unknown as () => Promise<void>),
      fence(storage, 'jobs', { token: 5 }, async () => 1, { waitMs: 0 }),
      fence(storage, 'jobs', { token: 5 }, async () => 1, { wait: 1 } as object),
      fence(storage, 'jobs', { token: 5 }, async () => 1, { signal: {} as AbortSignal }),
      read(storage, 'jobs', ''),
      read(storage, 'jobs', 'x'.repeat(501)),
      read(storage, 'jobs', 'a\0b'),
    ];
    for (const call of calls) {
      const error = await failureOf(call);
      expect(error).toBeInstanceOf(FenceError);
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', retryable: false });
    }
    expect(server.requests.length).toBe(before);
  });

  it.each(['__proto__', 'constructor', '../../x', 'a/b', '\n', '💡'])('take any name of a file: %j', async (name) => {
    await fence(storage, 'jobs', { token: 5 }, (tx) => tx.write(name, 'it'));
    expect(textOf(await read(storage, 'jobs', name))).toBe('it');
  });

  it.each([5, null, undefined, {}, ['a']])('take no data %j', async (data) => {
    const failed = fence(storage, 'jobs', { token: 5 }, (tx) => tx.write('a', data as unknown as string));
    expect(await failureOf(failed)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
