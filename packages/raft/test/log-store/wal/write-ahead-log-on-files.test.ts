import { chmod, lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DiskError, silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { logIndex, serverId, term } from '../../../src/core/index.ts';
import { openDataDirectory } from '../../../src/log-store/directory/data-directory.ts';
import { openWriteAheadLog } from '../../../src/log-store/wal/write-ahead-log.ts';
import { describeLogStore } from '../contract/conformance.ts';
import { alterDisk } from '../support/alter-disk.ts';
import { contentOf, entryRange, vote } from '../support/log-model.ts';
import { LOG_OPTIONS } from '../support/wal-fixture.ts';

const { disk, random } = nodeRuntime();
let root = '';
let fixtures = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'holdfast-log-'));
});

afterAll(async () => {
  await rm(root, { recursive: true });
});

describeLogStore(
  'the write-ahead log on the files of this machine',
  (test) => {
    const directory = join(root, `log-${(fixtures += 1)}`);
    let share: number | undefined;
    const faulty = alterDisk(disk, {
      append: async (file, position, buffers) => {
        const failing = file.path.endsWith('.wal') ? share : undefined;
        if (failing === undefined) return file.append(position, buffers);
        share = undefined;
        const bytes = Buffer.concat(buffers);
        await file.write(position, bytes.subarray(0, Math.floor(bytes.length * failing)));
        throw new DiskError('IO', file.path, 'the test lets this write fail');
      },
    });
    return test({
      open: () => openWriteAheadLog({ ...LOG_OPTIONS, directory }, { disk: faulty, logger: silentLogger }),
      failNextWrite: (writtenShare) => {
        share = writtenShare;
      },
    });
  },
  10,
);

describe('a data directory on the files of this machine', () => {
  /** Everything below it that has rights for others. */
  async function openToOthers(path: string): Promise<string[]> {
    const names = await readdir(path, { recursive: true });
    const found: string[] = [];
    for (const name of [path, ...names.map((inner) => join(path, inner))]) {
      if (((await lstat(name)).mode & 0o077) !== 0) found.push(name);
    }
    return found;
  }

  it('has nothing for other users, whatever the umask, and takes from them what it finds', async () => {
    const path = join(root, 'server-2');
    const umask = process.umask(0);
    try {
      const options = { path, clusterId: 'test', serverId: serverId(1), segmentBytes: 64 * 1024 };
      const members = [{ id: serverId(1), peerAddress: '127.0.0.1:1' }];
      const warnings: object[] = [];
      const logger = { ...silentLogger, warn: (fields: object) => warnings.push(fields) };
      const first = await openDataDirectory({ ...options, members }, { disk, random, logger });
      const log = { ...options, directory: first.logDirectory, incarnation: first.incarnation };
      const store = await openWriteAheadLog(log, { disk, logger });
      for (let n = 0; n < 4; n += 1) {
        await store.write({ hardState: vote(1), entries: entryRange(n * 50 + 1, n * 50 + 50, 1, 1_000) });
      }
      const meta = { index: logIndex(150), term: term(1), configuration: new Uint8Array(), origin: 'taken' } as const;
      await (await store.createSnapshot(meta)).finish();
      await store.compact(logIndex(140));
      await store.close();
      expect((await readdir(first.logDirectory)).length).toBeGreaterThan(3);
      expect(await openToOthers(path)).toEqual([]);
      await first.release();
      expect(warnings).toEqual([]);

      await chmod(path, 0o755);
      await chmod(join(path, 'identity.json'), 0o644);
      for (const name of await readdir(first.logDirectory)) await chmod(join(first.logDirectory, name), 0o640);
      const second = await openDataDirectory({ ...options, members }, { disk, random, logger });
      expect(await openToOthers(path)).toEqual([]);
      expect(warnings).toMatchObject([
        { directory: path, count: 2, first: path },
        { directory: first.logDirectory, first: expect.stringContaining(first.logDirectory) },
      ]);
      await second.release();
    } finally {
      process.umask(umask);
    }
  });

  it('is made once, taken by one, and has its log', async () => {
    const options = {
      path: join(root, 'server-1'),
      clusterId: 'test',
      serverId: serverId(1),
      members: [{ id: serverId(1), peerAddress: '127.0.0.1:1' }],
      segmentBytes: 64 * 1024,
    };
    const world = { disk, random, logger: silentLogger };
    const first = await openDataDirectory(options, world);
    await expect(openDataDirectory(options, world)).rejects.toThrow('is in use by another running server');
    const log = { ...options, directory: first.logDirectory, incarnation: first.incarnation };
    const store = await openWriteAheadLog(log, world);
    await store.write({ hardState: vote(1), entries: entryRange(1, 200, 1, 1_000) });
    await store.write({ entries: entryRange(201, 400, 1, 1_000) });
    await store.close();
    await first.release();
    const second = await openDataDirectory(options, world);
    expect(second.incarnation).toBe(first.incarnation);
    const found = await openWriteAheadLog(log, world);
    expect(await contentOf(found)).toEqual(entryRange(1, 400, 1, 1_000));
    await found.close();
    await second.release();
  });
});
