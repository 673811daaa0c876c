import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { backup, restore } from '../../src/daemon/backup.ts';
import { openDataDirectory } from '../../src/daemon/data-directory.ts';
import type { FencedStore } from '../../src/fenced-store.ts';

const { disk } = nodeRuntime({ logger: silentLogger });
const dependencies = { disk, logger: silentLogger };

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
