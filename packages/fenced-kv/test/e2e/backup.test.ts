/** Backup and restore with real processes: of a store that was killed, over one whose fence is higher, and of a file that is damaged. */

import { copyFile, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { FencedKv, StaleTokenError } from '@holdfast/fenced-kv-client';
import type { Bucket } from '@holdfast/fenced-kv-client';
import { run, serve } from './daemon.ts';
import { eachInDirectory } from './scratch.ts';

const LARGE_BYTES = 3_000_000;

let directory: string;
let data: string;
let file: string;

eachInDirectory((made) => {
  directory = made;
  data = join(directory, 'data');
  file = join(directory, 'monday');
});

/** Writes under a token until the server is killed; resolves with how many writes of each key were acknowledged. */
async function killedWhileWriting(token: number): Promise<Map<string, number>> {
  const server = await serve(data);
  const bucket = await new FencedKv(server.url).bucket('accounts').fencedBy({ token });
  const acknowledged = new Map<string, number>();
  const writer = async (key: string, bytes: number): Promise<void> => {
    for (let n = 1; ; n += 1) {
      await bucket.put(key, new Uint8Array(bytes).fill(n % 256));
      acknowledged.set(key, n);
    }
  };
  const ended = Promise.allSettled([writer('small', 50), writer('other', 5_000), writer('large', LARGE_BYTES)]);
  await expect.poll(() => acknowledged.get('large') ?? 0, { timeout: 60_000 }).toBeGreaterThan(2);
  await server.stop('SIGKILL');
  await ended;
  return acknowledged;
}

async function onStore<T>(path: string, work: (accounts: Bucket, url: string) => Promise<T>): Promise<T> {
  const server = await serve(path);
  const result = await work(new FencedKv(server.url).bucket('accounts'), server.url);
  expect((await server.stop('SIGTERM')).exitCode).toBe(0);
  return result;
}

/** Keys with the byte that fills each, which says which write of it that was. */
async function contentOf(accounts: Bucket): Promise<Map<string, number>> {
  const content = new Map<string, number>();
  for (const { key } of (await accounts.list()).keys) {
    const value = (await accounts.get(key))?.value ?? new Uint8Array(0);
    const fill = value[0] ?? -1;
    expect(
      value.every((byte) => byte === fill),
      `${key} is whole`,
    ).toBe(true);
    content.set(key, fill);
  }
  return content;
}

describe('fenced-kvd backup of a store that was killed', () => {
  it('has every acknowledged write and every fence, and restores them into a fresh directory', async () => {
    const acknowledged = await killedWhileWriting(57);
    const taken = await run('backup', '--data', data, '--to', file);
    expect([taken.exitCode, taken.stderr.includes('"level":50')]).toEqual([0, false]);
    expect(taken.stdout).toBe(`backup ${file}: 1 buckets, 3 keys\n`);
    expect((await stat(file)).mode & 0o077).toBe(0);

    const other = join(directory, 'other');
    expect((await run('restore', '--data', other, '--from', file)).exitCode).toBe(0);
    const source = await onStore(data, contentOf);
    await onStore(other, async (accounts) => {
      const restored = await contentOf(accounts);
      expect(restored).toEqual(source);
      // Of a write that was under way nobody knows.
      for (const [key, number] of acknowledged) {
        expect([number % 256, (number + 1) % 256], key).toContain(restored.get(key));
      }
      await expect(accounts.fencedBy({ token: 56 })).rejects.toMatchObject({ code: 'STALE_TOKEN', highest: 57 });
      const holder = await accounts.fencedBy({ token: 57 });
      await holder.put('small', 'after the restore');
      expect(new TextDecoder().decode((await holder.get('small'))?.value)).toBe('after the restore');
    });
  });
});

describe('fenced-kvd restore over a store with a higher fence', () => {
  it('brings the data back and keeps the fence, so that nobody who was fenced off writes', async () => {
    await onStore(data, async (accounts) => await (await accounts.fencedBy({ token: 41 })).put('k', 'old'));
    await run('backup', '--data', data, '--to', file);
    const revision = await onStore(data, async (accounts) => {
      const holder = await accounts.fencedBy({ token: 57 });
      await holder.put('k', 'new');
      return (await holder.put('later', 'new')).revision;
    });
    const restored = await run('restore', '--data', data, '--from', file);
    expect([restored.exitCode, restored.stderr]).toEqual([0, '']);
    expect(restored.stdout).toBe('restored 1 buckets, 1 keys; 1 buckets keep a higher fence\n');
    await onStore(data, async (accounts, url) => {
      expect(await accounts.info()).toMatchObject({ highest: 57, keys: 1 });
      expect(new TextDecoder().decode((await accounts.get('k'))?.value)).toBe('old');
      await expect(accounts.fencedBy({ token: 56 })).rejects.toBeInstanceOf(StaleTokenError);
      // A revision of before the restore passes for none of now, and who followed must begin anew.
      const holder = await accounts.fencedBy({ token: 57 });
      await expect(holder.put('k', 'x', { ifRevision: revision })).rejects.toMatchObject({
        code: 'PRECONDITION_FAILED',
      });
      expect((await fetch(`${url}/v1/buckets/accounts/changes?from=${revision}`)).status).toBe(410);
    });
  });
});

describe('fenced-kvd restore of a file that is not whole', () => {
  it('says what is wrong with it, and leaves the store as it was', async () => {
    await onStore(data, async (accounts) => await (await accounts.fencedBy({ token: 41 })).put('k', 'old'));
    await run('backup', '--data', data, '--to', file);
    await onStore(data, async (accounts) => await (await accounts.fencedBy({ token: 57 })).put('k', 'new'));
    const whole = await readFile(file);
    const wrong = join(directory, 'wrong');
    const refused = async (what: string): Promise<void> => {
      const { exitCode, stdout, stderr } = await run('restore', '--data', data, '--from', wrong);
      expect([exitCode, stdout]).toEqual([67, '']);
      expect(stderr).toContain(wrong);
      expect(stderr).toContain(what);
    };
    const changed = Buffer.from(whole);
    changed.writeUInt8(changed.readUInt8(60) ^ 1, 60);
    await writeFile(wrong, changed);
    await refused('is damaged before byte');
    await copyFile(file, wrong);
    await truncate(wrong, whole.length - 1);
    await refused('was cut');
    await writeFile(wrong, 'a page that somebody saved');
    await refused('is not a backup of fenced-kvd');
    const later = Buffer.from(whole);
    later.writeUInt32BE(9, 16);
    await writeFile(wrong, later);
    await refused('has version 9, and this program reads version 1');
    await onStore(data, async (accounts) => {
      expect(new TextDecoder().decode((await accounts.get('k'))?.value)).toBe('new');
    });
    const missing = await run('restore', '--data', data, '--from', join(directory, 'nowhere'));
    expect([missing.exitCode, missing.stderr.includes('nowhere')]).toEqual([2, true]);
  });
});

describe('fenced-kvd that serves', () => {
  it('lets nobody restore its data meanwhile, and a backup replaces no file', async () => {
    const server = await serve(data);
    await new FencedKv(server.url).bucket('accounts').fencedBy({ token: 57 });
    expect((await run('backup', '--data', data, '--to', file)).exitCode).toBe(0);
    expect((await run('restore', '--data', data, '--from', file)).exitCode).toBe(65);
    const again = await run('backup', '--data', data, '--to', file);
    expect([again.exitCode, again.stderr.includes('is there already')]).toEqual([2, true]);
    await server.stop('SIGTERM');
  });
});
