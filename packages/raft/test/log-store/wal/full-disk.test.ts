import { DiskError, silentLogger } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { serverId } from '../../../src/core/index.ts';
import { openDataDirectory, type DataDirectoryOptions } from '../../../src/log-store/directory/data-directory.ts';
import type { LogStore } from '../../../src/log-store/contract/log-store.ts';
import { entry, vote } from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';
import { openLog } from '../support/wal-fixture.ts';

const SEGMENT_BYTES = 1024 * 1024;
const ENTRY_BYTES = 20_000;
const PREPARED = '/data/group-0/next.prepared';

/** Writes entries up to `upTo`, from the one that follows the log. */
async function fill(machine: Machine, store: LogStore, from: number, upTo: number): Promise<void> {
  for (let index = from; index <= upTo; index += 1) {
    await store.write({ ...(index === 1 ? { hardState: vote(1) } : {}), entries: [entry(index, 1, ENTRY_BYTES)] });
    await machine.quiesce();
  }
}

describe('the next segment, when the disk is full', () => {
  it('is begun again when there is room, and the log goes on', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, { segmentBytes: SEGMENT_BYTES });
      machine.setFreeBytes(50_000);
      await fill(machine, store, 1, 25);
      expect(machine.files()).not.toContain(PREPARED);
      machine.setFreeBytes(2 ** 30);
      await fill(machine, store, 26, 120);
      await store.close();
      machine.crash();
      const found = await openLog(machine, { segmentBytes: SEGMENT_BYTES });
      expect(found.durable.lastIndex).toBe(120);
    }));

  it('is tried once more when it is needed', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, { segmentBytes: SEGMENT_BYTES });
      machine.setFreeBytes(50_000);
      await fill(machine, store, 1, 50);
      machine.setFreeBytes(2 ** 30);
      await fill(machine, store, 51, 56);
      await store.close();
    }));

  it('is not begun again after another error', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine, { segmentBytes: SEGMENT_BYTES });
      machine.failNext('write', 'IO');
      await fill(machine, store, 1, 50);
      await expect(fill(machine, store, 51, 56)).rejects.toMatchObject({ name: 'DiskError', code: 'IO' });
      await store.close();
    }));
});

describe('a start on a full disk', () => {
  const OPTIONS: DataDirectoryOptions = {
    path: '/srv/holdfast',
    clusterId: 'local',
    serverId: serverId(1),
    members: [{ id: serverId(1), peerAddress: '127.0.0.1:7201' }],
    segmentBytes: SEGMENT_BYTES,
  };
  const open = (machine: Machine) =>
    openDataDirectory(OPTIONS, { disk: machine.disk, random: machine.random, logger: silentLogger });

  async function refusalOf(machine: Machine): Promise<DiskError> {
    const error: unknown = await open(machine).catch((caught: unknown) => caught);
    if (!(error instanceof DiskError)) throw new Error('it was opened', { cause: error });
    return error;
  }

  it('with a new directory names the free and the needed bytes, and makes nothing', () =>
    onMachine(async (machine) => {
      machine.setFreeBytes(SEGMENT_BYTES);
      const refusal = await refusalOf(machine);
      expect(refusal.code).toBe('NO_SPACE');
      expect(refusal.message).toContain(
        `has ${SEGMENT_BYTES} bytes free, and this server needs ${SEGMENT_BYTES + 64 * 1024} to start`,
      );
      expect(machine.files()).toEqual([]);
      await expect(machine.disk.list('/srv')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    }));

  it('with an existing one does the same, and counts what is prepared', () =>
    onMachine(async (machine) => {
      await (await open(machine)).release();
      const before = machine.files();
      machine.setFreeBytes(100_000);
      expect((await refusalOf(machine)).message).toContain('has 100000 bytes free');
      expect(machine.files()).toEqual(before);
      machine.setFreeBytes(2 ** 30);
      await machine.createFile('/srv/holdfast/group-0/next.prepared', new Uint8Array(SEGMENT_BYTES));
      machine.setFreeBytes(100_000);
      await (await open(machine)).release();
    }));

  it.each([1, 0.5])('counts a spare segment, too, of %d times the size of one', (share) =>
    onMachine(async (machine) => {
      await (await open(machine)).release();
      await machine.createFile('/srv/holdfast/group-0/spare.recycled', new Uint8Array(SEGMENT_BYTES * share));
      const neededBytes = SEGMENT_BYTES * (1 - share) + 64 * 1024;
      machine.setFreeBytes(neededBytes - 1);
      expect((await refusalOf(machine)).message).toContain(`this server needs ${neededBytes} to start`);
      machine.setFreeBytes(neededBytes);
      await (await open(machine)).release();
    }),
  );

  it('that becomes full while the directory is made leaves no half of it', () =>
    onMachine(async (machine) => {
      machine.failNext('write', 'NO_SPACE');
      expect((await refusalOf(machine)).code).toBe('NO_SPACE');
      expect(machine.files()).toEqual([]);
      await (await open(machine)).release();
    }));
});
