/** What every Disk must do for a process that lives. What survives a crash is tested on the simulated one. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Disk, DiskFile } from '../../src/index.ts';
import type { Fixture } from './fixture.ts';

export interface DiskFixture extends Fixture {
  readonly disk: Disk;
  /** An empty directory. */
  readonly directory: string;
}

export function diskCompliance(name: string, setup: () => Promise<DiskFixture>): void {
  describe(`the disk of the ${name} runtime`, () => {
    let fixture: DiskFixture;
    let disk: Disk;
    beforeEach(async () => {
      fixture = await setup();
      ({ disk } = fixture);
    });
    afterEach(() => fixture.teardown());

    const run = <T>(promise: Promise<T>): Promise<T> => fixture.complete(promise);
    const path = (...names: string[]): string => [fixture.directory, ...names].join('/');
    const create = (file = 'file'): Promise<DiskFile> => run(disk.open(path(file), 'create'));
    const content = async (file = 'file'): Promise<number[]> => [...(await run(disk.readFile(path(file))))];

    it('appends several buffers one after another at a position', async () => {
      const file = await create();
      await run(file.append(0, [Uint8Array.of(1, 2), Uint8Array.of(), Uint8Array.of(3)]));
      await run(file.append(3, [Uint8Array.of(4)]));
      await run(file.append(1, [Uint8Array.of(9)]));
      expect(await content()).toEqual([1, 9, 3, 4]);
      expect(await run(file.size())).toBe(4);
      await run(file.close());
    });

    it('appends more buffers than one system call takes', async () => {
      const file = await create();
      const buffers = Array.from({ length: 3_000 }, (_, n) => Uint8Array.of(n & 0xff, n >> 8));
      await run(file.append(0, buffers));
      expect(await content()).toEqual(buffers.flatMap((buffer) => [...buffer]));
      await run(file.close());
    });

    it('takes an append of nothing', async () => {
      const file = await create();
      await run(file.append(10, []));
      await run(file.append(10, [new Uint8Array(0)]));
      expect(await run(file.size())).toBe(0);
      await run(file.close());
    });

    it('lets appends to different places go on at once', async () => {
      const file = await create();
      await run(Promise.all([0, 1, 2, 3].map((n) => file.append(n * 2, [Uint8Array.of(n, n)]))));
      expect(await content()).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
      await run(file.close());
    });

    it('fills the gap before a write with zeros', async () => {
      const file = await create();
      await run(file.write(3, Uint8Array.of(7)));
      await run(file.sync());
      expect(await content()).toEqual([0, 0, 0, 7]);
      await run(file.close());
    });

    it('reads fewer bytes than asked for only at the end', async () => {
      const file = await create();
      await run(file.write(0, Uint8Array.of(1, 2, 3, 4, 5)));
      expect([...(await run(file.read(1, 3)))]).toEqual([2, 3, 4]);
      expect([...(await run(file.read(3, 10)))]).toEqual([4, 5]);
      expect([...(await run(file.read(5, 10)))]).toEqual([]);
      expect([...(await run(file.read(500, 10)))]).toEqual([]);
      expect((await run(file.read(0, 5))).constructor).toBe(Uint8Array);
      expect((await run(disk.readFile(path('file')))).constructor).toBe(Uint8Array);
      await run(file.close());
    });

    it('reads the same with a room for it, of any size', async () => {
      const file = await create();
      await run(file.write(0, Uint8Array.of(1, 2, 3, 4, 5)));
      for (const bytes of [0, 2, 3, 8]) {
        expect([...(await run(file.read(1, 3, new Uint8Array(bytes).fill(9))))]).toEqual([2, 3, 4]);
        expect([...(await run(file.read(3, 3, new Uint8Array(bytes).fill(9))))]).toEqual([4, 5]);
      }
      await run(file.close());
    });

    it('truncates, and reads zeros where it grows again', async () => {
      const file = await create();
      await run(file.write(0, Uint8Array.of(1, 2, 3, 4)));
      await run(file.truncate(2));
      await run(file.truncate(4));
      expect(await content()).toEqual([1, 2, 0, 0]);
      await run(file.close());
    });

    it('keeps content over closing and opening, and refuses a closed file', async () => {
      const file = await create();
      await run(file.append(0, [Uint8Array.of(5)]));
      await run(file.close());
      await expect(run(file.append(1, [Uint8Array.of(6)]))).rejects.toMatchObject({ name: 'DiskError', code: 'IO' });
      await expect(run(file.read(0, 1))).rejects.toThrow('closed');
      const again = await run(disk.open(path('file'), 'existing'));
      expect([...(await run(again.read(0, 10)))]).toEqual([5]);
      await run(again.close());
    });

    it('refuses to create what exists, and to open or read what does not', async () => {
      await run((await create()).close());
      await expect(run(disk.open(path('file'), 'create'))).rejects.toMatchObject({
        code: 'EXISTS',
        path: path('file'),
      });
      const attempts: (() => Promise<unknown>)[] = [
        () => disk.open(path('missing'), 'existing'),
        () => disk.open(path('missing', 'child'), 'create'),
        () => disk.readFile(path('missing')),
        () => disk.list(path('missing')),
        () => disk.remove(path('missing')),
        () => disk.rename(path('missing'), path('other')),
        () => disk.syncDirectory(path('missing')),
        () => disk.lockDirectory(path('missing')),
      ];
      for (const attempt of attempts) {
        await expect(run(attempt())).rejects.toMatchObject({ name: 'DiskError', code: 'NOT_FOUND' });
      }
    });

    it('names the path in the message of an error', async () => {
      await expect(run(disk.readFile(path('missing')))).rejects.toThrow(path('missing'));
    });

    it('makes a directory with its parents, and again without an error', async () => {
      await run(disk.makeDirectory(path('a', 'b', 'c')));
      await run(disk.makeDirectory(path('a', 'b', 'c')));
      expect(await run(disk.list(path('a', 'b')))).toEqual(['c']);
      await run((await create()).close());
      await expect(run(disk.makeDirectory(path('file')))).rejects.toMatchObject({ code: 'EXISTS' });
    });

    it('lists names sorted by code unit', async () => {
      for (const each of ['b', 'a', 'B', 'ä', '10', '9']) await run((await create(each)).close());
      expect(await run(disk.list(fixture.directory))).toEqual(['10', '9', 'B', 'a', 'b', 'ä']);
    });

    it('renames over an existing file, and an open file goes with its new name', async () => {
      const file = await create('new');
      await run(file.write(0, Uint8Array.of(2)));
      await run((await create('old')).close());
      await run(disk.rename(path('new'), path('old')));
      await run(disk.syncDirectory(fixture.directory));
      await run(file.append(1, [Uint8Array.of(3)]));
      expect(await content('old')).toEqual([2, 3]);
      expect(await run(disk.list(fixture.directory))).toEqual(['old']);
      await run(file.close());
    });

    it('removes files, and trees, of which there may be nothing', async () => {
      await run((await create()).close());
      await run(disk.remove(path('file')));
      await run(disk.makeDirectory(path('tree', 'branch')));
      await run(disk.removeTree(path('tree')));
      await run(disk.removeTree(path('tree')));
      expect(await run(disk.list(fixture.directory))).toEqual([]);
    });

    it('keeps a removed file readable for those who have it open', async () => {
      const file = await create();
      await run(file.write(0, Uint8Array.of(1)));
      await run(disk.remove(path('file')));
      expect([...(await run(file.read(0, 1)))]).toEqual([1]);
      await run(file.close());
    });

    it('knows how many bytes are free', async () => {
      expect(await run(disk.freeBytes(fixture.directory))).toBeGreaterThan(0);
    });

    it('gives a directory to one taker at a time, without a trace in its list', async () => {
      const lock = await run(disk.lockDirectory(fixture.directory));
      expect(await run(disk.list(fixture.directory))).toEqual([]);
      await expect(run(disk.lockDirectory(fixture.directory))).rejects.toMatchObject({ code: 'LOCKED' });
      await run(lock.release());
      const again = await run(disk.lockDirectory(fixture.directory));
      await run(again.release());
      await run(again.release());
    });

    it('lets exactly one of several takers have a directory that they want at once', async () => {
      const takers = Array.from({ length: 6 }, () => disk.lockDirectory(fixture.directory));
      const outcomes = await run(Promise.allSettled(takers));
      const taken = outcomes.filter((each) => each.status === 'fulfilled');
      expect(taken).toHaveLength(1);
      for (const each of outcomes)
        if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'LOCKED' });
      for (const each of taken) await run(each.value.release());
    });
  });
}
