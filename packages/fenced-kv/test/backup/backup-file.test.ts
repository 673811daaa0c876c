import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { BackupWriter } from '../../src/backup/backup-file.ts';
import { backup, restore } from '../../src/daemon/backup.ts';
import { openDataDirectory } from '../../src/daemon/data-directory.ts';
import type { FencedStore } from '../../src/fenced-store.ts';

const { disk } = nodeRuntime({ logger: silentLogger });
const dependencies = { disk, logger: silentLogger };

const RECORD = { tokens: 'required', highest: 5, revision: 1, keys: 1, bytes: 4 } as const;
const BUCKET = { type: 'bucket', bucket: 'b', record: RECORD } as const;
const KEY = { type: 'key', key: Uint8Array.of(0x6b), record: { revision: 1, valueBytes: 3 } } as const;

let folder: string;
let data: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fenced-kv-backup-'));
  data = join(folder, 'data');
  file = join(folder, 'backup');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function onStore<T>(path: string, work: (store: FencedStore) => Promise<T> | T): Promise<T> {
  const directory = await openDataDirectory(path, dependencies);
  try {
    return await work(directory.store);
  } finally {
    await directory.close();
  }
}

async function fill(path: string, token: number): Promise<void> {
  await onStore(path, async (store) => {
    for (const key of ['a', 'b', 'c']) {
      await store.write('accounts', [{ key, value: new TextEncoder().encode(`${key} ${token}`) }], { token });
    }
    await store.install('empty', token);
  });
}

describe('fenced-kvd backup', () => {
  it('writes a file of its user alone, which restores into a new directory', async () => {
    await fill(data, 57);
    expect(await backup({ data, to: file }, dependencies)).toEqual({ buckets: 2, keys: 3 });
    expect((await stat(file)).mode & 0o077).toBe(0);
    expect(await readdir(folder)).not.toContain('backup.partial');
    const other = join(folder, 'other');
    expect(await restore({ data: other, from: file }, dependencies)).toEqual({ buckets: 2, keys: 3, keptFences: 0 });
    await onStore(other, (store) => {
      expect(store.info('accounts')).toMatchObject({ highest: 57, keys: 3 });
      expect(store.info('empty')).toMatchObject({ highest: 57, keys: 0 });
      expect(new TextDecoder().decode(store.get('accounts', 'b').value)).toBe('b 57');
    });
  });

  it('leaves a file that is there as it is, and takes the place of one that was not finished', async () => {
    await fill(data, 57);
    await writeFile(file, 'mine');
    await expect(backup({ data, to: file }, dependencies)).rejects.toMatchObject({ exitCode: 2 });
    expect(await readFile(file, 'utf8')).toBe('mine');
    await rm(file);
    await writeFile(`${file}.partial`, 'of a backup that was killed');
    await backup({ data, to: file }, dependencies);
    await restore({ data: join(folder, 'other'), from: file }, dependencies);
  });

  it('says so where there is no directory for it', async () => {
    await fill(data, 57);
    const to = join(folder, 'nowhere', 'backup');
    await expect(backup({ data, to }, dependencies)).rejects.toMatchObject({
      exitCode: 2,
      message: `there is no directory ${join(folder, 'nowhere')} for the backup; make it, or correct --to`,
    });
  });

  it('refuses a directory without data, and leaves it as it is', async () => {
    const empty = await mkdtemp(join(folder, 'empty-'));
    await expect(backup({ data: empty, to: file }, dependencies)).rejects.toMatchObject({ exitCode: 2 });
    expect(await readdir(empty)).toEqual([]);
  });

  it('refuses data that a server uses', async () => {
    await fill(data, 57);
    await onStore(data, async () => {
      await expect(backup({ data, to: file }, dependencies)).rejects.toMatchObject({ exitCode: 65 });
    });
    expect(await readdir(folder)).toEqual(['data']);
  });
});

describe('fenced-kvd restore', () => {
  it('lowers no fence of the directory', async () => {
    await fill(data, 41);
    await backup({ data, to: file }, dependencies);
    await fill(data, 57);
    expect(await restore({ data, from: file }, dependencies)).toEqual({ buckets: 2, keys: 3, keptFences: 2 });
    await onStore(data, (store) => {
      expect([store.info('accounts').highest, store.info('empty').highest]).toEqual([57, 57]);
      expect(new TextDecoder().decode(store.get('accounts', 'a').value)).toBe('a 41');
    });
  });

  it('finds every byte that was changed, and every cut, before it changes anything', async () => {
    await fill(data, 41);
    await backup({ data, to: file }, dependencies);
    await fill(data, 57);
    const whole = await readFile(file);
    const wrong = join(folder, 'wrong');
    const refused = async (content: Uint8Array): Promise<void> => {
      await writeFile(wrong, content);
      await expect(restore({ data, from: wrong }, dependencies)).rejects.toMatchObject({ exitCode: 67 });
    };
    for (let at = 0; at < whole.length; at += 1) {
      const changed = Buffer.from(whole);
      changed.writeUInt8(changed.readUInt8(at) ^ 0x10, at);
      await refused(changed);
    }
    for (let length = 0; length < whole.length; length += 1) await refused(whole.subarray(0, length));
    await refused(Buffer.concat([whole, Buffer.of(0)]));
    await onStore(data, (store) => {
      expect(new TextDecoder().decode(store.get('accounts', 'a').value)).toBe('a 57');
    });
  }, 60_000);

  it.each([
    ['a bucket with a name that none can have', [{ ...BUCKET, bucket: '../b' }]],
    ['a bucket whose name is not ASCII', [{ ...BUCKET, bucket: 'ключ' }]],
    ['a key without a bucket', [KEY]],
    ['a key without a name', [BUCKET, { ...KEY, key: new Uint8Array(0) }]],
    ['a key that is not UTF-8', [BUCKET, { ...KEY, key: Uint8Array.of(0xff) }]],
    ['a key that is too long', [BUCKET, { ...KEY, key: new Uint8Array(513).fill(0x61) }]],
    ['a value that is too short', [BUCKET, KEY, { type: 'value', bytes: new Uint8Array(2) }]],
    ['a value that is too long', [BUCKET, KEY, { type: 'value', bytes: new Uint8Array(4) }]],
    ['a key in the middle of a value', [BUCKET, KEY, { type: 'value', bytes: new Uint8Array(2) }, KEY]],
  ] as const)('refuses %s, whatever its checksums say', async (_what, records) => {
    const written = await disk.open(file, 'create');
    const writer = new BackupWriter(written);
    for (const record of records) await writer.add(record);
    await writer.end();
    await written.close();
    await expect(restore({ data, from: file }, dependencies)).rejects.toMatchObject({ exitCode: 67 });
  });

  it('says which version it reads of a file of another', async () => {
    await fill(data, 41);
    await backup({ data, to: file }, dependencies);
    const newer = await readFile(file);
    newer.writeUInt32BE(2, 16);
    await writeFile(file, newer);
    await expect(restore({ data, from: file }, dependencies)).rejects.toMatchObject({
      exitCode: 67,
      message: expect.stringContaining('has version 2, and this program reads version 1') as string,
    });
  });
});
