import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeDisk } from '../../src/node/index.ts';

const disk = nodeDisk();
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'holdfast-disk-'));
});
afterEach(() => rm(directory, { recursive: true }));

describe('the disk of the operating system', () => {
  it('waits for operations under way when a file is closed', async () => {
    const file = await disk.open(join(directory, 'file'), 'create');
    const appends = Array.from({ length: 20 }, (_, n) => file.append(n, [Uint8Array.of(n)]));
    await file.close();
    await Promise.all(appends);
    expect([...(await readFile(join(directory, 'file')))]).toEqual(Array.from({ length: 20 }, (_, n) => n));
    await file.close();
  });

  it.skipIf(!existsSync('/dev/full'))('reports a full disk as NO_SPACE (needs /dev/full)', async () => {
    await symlink('/dev/full', join(directory, 'full'));
    const file = await disk.open(join(directory, 'full'), 'existing');
    const path = join(directory, 'full');
    await expect(file.append(0, [Uint8Array.of(1)])).rejects.toMatchObject({
      name: 'DiskError',
      code: 'NO_SPACE',
      path,
    });
    await expect(file.append(0, [Uint8Array.of(1), Uint8Array.of(2)])).rejects.toThrow('ENOSPC');
    await expect(file.write(0, Uint8Array.of(1))).rejects.toMatchObject({ code: 'NO_SPACE' });
    await file.close();
  });

  it.skipIf(process.platform !== 'linux')(
    'appends through a descriptor opened with O_DSYNC (needs Linux)',
    async () => {
      const path = join(directory, 'file');
      const file = await disk.open(path, 'create');
      const flags: number[] = [];
      for (const descriptor of await readdir('/proc/self/fd')) {
        const info = await readFile(`/proc/self/fdinfo/${descriptor}`, 'utf8').catch(() => '');
        const target = await readlink(`/proc/self/fd/${descriptor}`).catch(() => '');
        if (target === path) flags.push(Number.parseInt(/flags:\s*([0-7]+)/.exec(info)?.[1] ?? '0', 8));
      }
      const O_DSYNC = 0o10000;
      expect(flags).toHaveLength(2);
      expect(flags.filter((each) => (each & O_DSYNC) !== 0)).toHaveLength(1);
      await file.close();
    },
  );

  it('keeps appending to a file that was renamed while another took its old name', async () => {
    const path = join(directory, 'file');
    const file = await disk.open(path, 'create');
    await rename(path, join(directory, 'renamed'));
    await writeFile(path, 'other');
    await file.append(0, [Uint8Array.of(1)]);
    expect([...(await readFile(join(directory, 'renamed')))]).toEqual([1]);
    expect(await readFile(path, 'utf8')).toBe('other');
    await file.close();
  });

  it('makes directories in the working directory, and takes the root for one that exists', async () => {
    await disk.makeDirectory('.');
    await disk.makeDirectory('/');
    expect((await disk.list('/')).length).toBeGreaterThan(0);
  });
});

describe('the lock of a directory', () => {
  /** A socket file whose process is gone. */
  async function leaveBehind(name: string): Promise<void> {
    const server = createServer();
    server.listen(join(directory, 'bound'));
    await once(server, 'listening');
    await rename(join(directory, 'bound'), join(directory, name));
    server.close();
    await once(server, 'close');
  }

  it('is not blocked by what a dead process left behind, and tidies it up', async () => {
    await leaveBehind('lock-0000000000000000.sock');
    await leaveBehind('lock-ffffffffffffffff.sock');
    const lock = await disk.lockDirectory(directory);
    expect(await readdir(directory)).toHaveLength(1);
    await lock.release();
    expect(await readdir(directory)).toEqual([]);
  });

  it('works in a directory whose path is longer than a socket path', async () => {
    const long = join(directory, 'd'.repeat(120));
    await mkdir(long);
    const attempt = disk.lockDirectory(long);
    if (process.platform !== 'linux') {
      await expect(attempt).rejects.toThrow('shorter path');
      return;
    }
    const lock = await attempt;
    await expect(disk.lockDirectory(long)).rejects.toMatchObject({ code: 'LOCKED' });
    await lock.release();
    expect(await readdir(long)).toEqual([]);
    await (await disk.lockDirectory(long)).release();
  });

  it('is taken by a process for itself as little as by another', async () => {
    const lock = await disk.lockDirectory(directory);
    await expect(nodeDisk().lockDirectory(directory)).rejects.toThrow('in use by another running process');
    await lock.release();
    await lock.release();
  });

  it('leaves nothing behind when it is refused', async () => {
    const lock = await disk.lockDirectory(directory);
    const before = await readdir(directory);
    await expect(disk.lockDirectory(directory)).rejects.toMatchObject({ code: 'LOCKED' });
    expect(await readdir(directory)).toEqual(before);
    await lock.release();
  });
});
