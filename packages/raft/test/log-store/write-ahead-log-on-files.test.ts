import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DiskError, silentLogger } from '@holdfast/runtime';
import { nodeRuntime } from '@holdfast/runtime/node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serverId } from '../../src/core/index.ts';
import { openDataDirectory } from '../../src/log-store/data-directory.ts';
import { openWriteAheadLog } from '../../src/log-store/write-ahead-log.ts';
import { describeLogStore } from './conformance.ts';
import { alterDisk } from './support/alter-disk.ts';
import { contentOf, entryRange, vote } from './support/log-model.ts';
import { LOG_OPTIONS } from './support/wal-fixture.ts';

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
