import { describe, expect, it } from 'vitest';
import { logIndex, term } from '../../../src/core/index.ts';
import { SnapshotFiles, listSnapshots } from '../../../src/log-store/snapshots/snapshot-files.ts';
import { onMachine, type Machine } from '../support/machine.ts';
import { LOG_OPTIONS } from '../support/wal-fixture.ts';

const { directory } = LOG_OPTIONS;

async function withSnapshots(machine: Machine, ...indexes: number[]): Promise<SnapshotFiles> {
  await machine.disk.makeDirectory(directory);
  const files = new SnapshotFiles({ ...LOG_OPTIONS, reserveBytes: 0 }, machine.disk);
  for (const index of indexes) {
    const configuration = new Uint8Array(0);
    const sink = await files.create({ index: logIndex(index), term: term(1), origin: 'taken', configuration });
    await sink.write(new Uint8Array(10));
    await sink.finish();
  }
  return files;
}

const left = async ({ disk }: Machine): Promise<number[]> =>
  (await listSnapshots(directory, disk)).map(({ index }) => index);

describe('snapshots that are not needed any more', () => {
  it('are all but the newest, and the one before it while the log goes on from that', () =>
    onMachine(async (machine) => {
      const files = await withSnapshots(machine, 5, 10, 20);
      await files.prune(logIndex(11));
      expect(await left(machine)).toEqual([10, 20]);
      await files.prune(logIndex(11));
      expect(await left(machine)).toEqual([10, 20]);
      // The log begins behind 11: from 10 there is no way to it.
      await files.prune(logIndex(12));
      expect(await left(machine)).toEqual([20]);
    }));

  it('are none where there is no snapshot, or one', () =>
    onMachine(async (machine) => {
      const files = await withSnapshots(machine);
      await files.prune(logIndex(1));
      const one = await withSnapshots(machine, 7);
      await one.prune(logIndex(8));
      expect(await left(machine)).toEqual([7]);
    }));
});

describe('a snapshot that was given up', () => {
  it('leaves nothing, is given up once, and cannot be finished', () =>
    onMachine(async (machine) => {
      const files = await withSnapshots(machine);
      const configuration = new Uint8Array(0);
      const sink = await files.create({ index: logIndex(3), term: term(1), origin: 'taken', configuration });
      await sink.write(new Uint8Array(1_000));
      await sink.abort();
      await sink.abort();
      await expect(sink.finish()).rejects.toThrow('a-snapshot-that-is-over-is-not-written');
      expect(machine.files()).toEqual([]);
    }));
});
