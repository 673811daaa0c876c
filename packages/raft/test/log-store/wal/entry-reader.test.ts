import type { Disk, DiskFile } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { logIndex, term, type Entry } from '../../../src/core/index.ts';
import { DamagedLogError } from '../../../src/log-store/errors/damaged-log-error.ts';
import type { LogStore } from '../../../src/log-store/contract/log-store.ts';
import { alterDisk } from '../support/alter-disk.ts';
import { contentOf, entry, entryRange, vote } from '../support/log-model.ts';
import { onMachine } from '../support/machine.ts';
import { openLog, segmentPaths } from '../support/wal-fixture.ts';

/** How many segments are open; the log's own is one. */
class OpenSegments {
  count = 0;
  opened = 0;

  on(disk: Disk): Disk {
    return {
      ...alterDisk(disk, {}),
      open: async (path, mode) => {
        const file = await disk.open(path, mode);
        if (!path.endsWith('.wal')) return file;
        this.count += 1;
        this.opened += 1;
        return alterFile(file, {
          close: async () => {
            this.count -= 1;
            await file.close();
          },
        });
      },
    };
  }
}

function alterFile(file: DiskFile, altered: Partial<Pick<DiskFile, 'close' | 'read'>>): DiskFile {
  return {
    path: file.path,
    append: (position, buffers) => file.append(position, buffers),
    write: (position, bytes) => file.write(position, bytes),
    sync: () => file.sync(),
    read: (position, length) => file.read(position, length),
    truncate: (length) => file.truncate(length),
    size: () => file.size(),
    close: () => file.close(),
    ...altered,
  };
}

/** Entries 1 to 12 of 1,000 bytes, three in a segment. */
async function fillSegments(store: LogStore): Promise<void> {
  for (let index = 1; index <= 12; index += 1) {
    await store.write({ hardState: vote(1), entries: entryRange(index, index, 1, 1_000) });
  }
}

describe('reads of a write-ahead log, one after another', () => {
  it('open each segment once, and have closed it when they are through', () =>
    onMachine(async (machine) => {
      const segments = new OpenSegments();
      const store = await openLog(machine, {}, (disk) => segments.on(disk));
      await fillSegments(store);
      const before = segments.opened;
      const found: Entry[] = [];
      while (found.length < 12) found.push(...(await store.read(logIndex(found.length + 1), logIndex(12), 1)));
      expect(found).toEqual(entryRange(1, 12, 1, 1_000));
      expect(segments.opened - before).toBe((await segmentPaths(machine)).length);
      expect(segments.count).toBe(1);
    }));

  it('see what was written between them', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 100) });
      expect(await store.read(logIndex(1), logIndex(9), 1)).toEqual(entryRange(1, 1, 1, 100));
      await store.write({ hardState: vote(2), truncateFrom: logIndex(3), entries: entryRange(3, 5, 2, 100) });
      const rest = [...entryRange(2, 2, 1, 100), ...entryRange(3, 5, 2, 100)];
      expect(await store.read(logIndex(2), logIndex(9), 10_000)).toEqual(rest);
    }));

  it('leave nothing open of what is compacted', () =>
    onMachine(async (machine) => {
      const segments = new OpenSegments();
      const store = await openLog(machine, {}, (disk) => segments.on(disk));
      await fillSegments(store);
      await store.read(logIndex(1), logIndex(12), 1);
      expect(segments.count).toBe(2);
      const configuration = new Uint8Array(0);
      const meta = { index: logIndex(9), term: term(1), origin: 'taken', configuration } as const;
      await (await store.createSnapshot(meta)).finish();
      await store.compact(logIndex(9));
      expect(segments.count).toBe(1);
      expect(await store.read(logIndex(10), logIndex(12), 10_000)).toEqual(entryRange(10, 12, 1, 1_000));
    }));

  it('have nothing of what is compacted, and do not skip it', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await fillSegments(store);
      const configuration = new Uint8Array(0);
      const meta = { index: logIndex(9), term: term(1), origin: 'taken', configuration } as const;
      await (await store.createSnapshot(meta)).finish();
      await store.compact(logIndex(9));
      const { firstIndex } = store;
      expect(firstIndex).toBeGreaterThan(1);
      for (let index = 1; index < firstIndex; index += 1) {
        expect(await store.read(logIndex(index), logIndex(12), 10_000)).toEqual([]);
      }
      expect(await store.read(firstIndex, firstIndex, 10_000)).toHaveLength(1);
    }));

  it('leave nothing open of a log that is closed, though one is under way', () =>
    onMachine(async (machine) => {
      const segments = new OpenSegments();
      const store = await openLog(machine, {}, (disk) => segments.on(disk));
      await fillSegments(store);
      await store.read(logIndex(1), logIndex(12), 1);
      const reading = store.read(logIndex(2), logIndex(12), 1);
      await store.close();
      await reading.catch(() => []);
      expect(segments.count).toBe(0);
    }));
});

describe('a read of a write-ahead log', () => {
  it('that began before a truncation does not return what it cut', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: entryRange(1, 6, 1) });
      const reading = store.read(logIndex(1), logIndex(6), 10_000);
      const writing = store.write({ hardState: vote(2), truncateFrom: logIndex(4), entries: [entry(4, 2)] });
      expect((await reading).slice(0, 3)).toEqual(entryRange(1, 3, 1));
      expect((await reading).slice(3)).not.toContainEqual(entry(4, 1));
      await writing;
      expect(await contentOf(store, logIndex(4))).toEqual([...entryRange(1, 3, 1), entry(4, 2)]);
    }));

  it('is made anew when a truncation comes while bytes are on their way from the disk', () =>
    onMachine(async (machine) => {
      let meanwhile: (() => Promise<void>) | undefined;
      const store = await openLog(machine, {}, (disk) => ({
        ...alterDisk(disk, {}),
        open: async (path, mode) => {
          const file = await disk.open(path, mode);
          const read: DiskFile['read'] = async (position, length) => {
            const bytes = await file.read(position, length);
            const once = meanwhile;
            meanwhile = undefined;
            await once?.();
            return bytes;
          };
          return alterFile(file, { read });
        },
      }));
      await store.write({ hardState: vote(1), entries: entryRange(1, 6, 1) });
      meanwhile = () => store.write({ hardState: vote(2), truncateFrom: logIndex(4), entries: [entry(4, 2)] });
      expect(await store.read(logIndex(1), logIndex(6), 10_000)).toEqual([...entryRange(1, 3, 1), entry(4, 2)]);
      expect(meanwhile).toBeUndefined();
    }));

  it('refuses bytes that have changed since they were written', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: entryRange(1, 6, 1, 100) });
      const [path = ''] = await segmentPaths(machine);
      machine.flipBit(path, 500);
      await expect(store.read(logIndex(1), logIndex(6), 10_000)).rejects.toBeInstanceOf(DamagedLogError);
    }));
});
