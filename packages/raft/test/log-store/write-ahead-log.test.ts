import { DiskError, silentLogger, type Logger } from '@holdfast/runtime';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logIndex } from '../../src/core/index.ts';
import { DamagedLogError } from '../../src/log-store/damaged-log-error.ts';
import { openWriteAheadLog } from '../../src/log-store/write-ahead-log.ts';
import { batchPlan, describeLogStore } from './conformance.ts';
import {
  after,
  contentOf,
  durableStateOf,
  EMPTY_MODEL,
  entry,
  entryRange,
  modelOf,
  planned,
  vote,
} from './support/log-model.ts';
import { VolatileDisk } from './support/volatile-disk.ts';
import { flipBit, LOG_OPTIONS, openLog, SEGMENT_BYTES, segmentPaths } from './support/wal-fixture.ts';

describeLogStore('the write-ahead log', () => {
  const disk = new VolatileDisk();
  return { open: () => openLog(disk) };
});

describe('a write-ahead log over power failures', () => {
  it('has everything that was acknowledged, and nothing by halves, whenever the power fails', async () => {
    const life = fc.record({
      plans: fc.array(batchPlan, { maxLength: 15 }),
      operations: fc.integer({ min: 1, max: 80 }),
      tear: fc.constantFrom('none' as const, 'all' as const, 'random' as const),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(life, { minLength: 1, maxLength: 5 }),
        fc.infiniteStream(fc.boolean()),
        async (lives, coins) => {
          const disk = new VolatileDisk();
          let model = EMPTY_MODEL;
          for (const { plans, operations, tear } of lives) {
            let pending = model;
            const run = async () => {
              const store = await openLog(disk);
              for (const plan of plans) {
                const batch = planned(plan, model);
                pending = after(model, batch);
                await store.write(batch);
                model = pending;
              }
            };
            await Promise.race([run(), disk.losePowerAt(operations)]);
            disk.crash(tear === 'random' ? () => coins.next().value : tear);
            const store = await openLog(disk);
            const found = await modelOf(store);
            expect(store.durable).toEqual(durableStateOf(found));
            expect([model, pending]).toContainEqual(found);
            model = found;
            await store.close();
          }
        },
      ),
      { numRuns: 250 },
    );
  });

  it('does not let a cut write come back behind a later, shorter one', async () => {
    const disk = new VolatileDisk();
    const first = await openLog(disk);
    await first.write({ hardState: vote(1), entries: entryRange(1, 2, 1) });
    void first.write({ entries: entryRange(3, 12, 1, 200) });
    let sector = 0;
    // All of the write but its first sector reaches the disk.
    disk.crash((_path, what) => what === 'sector' && (sector += 1) > 1);
    const second = await openLog(disk);
    expect(await contentOf(second)).toEqual(entryRange(1, 2, 1));
    await second.write({ entries: [entry(3, 1)] });
    disk.crash();
    const [path = ''] = await segmentPaths(disk);
    const used = disk.bytes(path).findLastIndex((byte) => byte !== 0);
    expect(used).toBeLessThan(600);
    expect(await contentOf(await openLog(disk))).toEqual(entryRange(1, 3, 1));
  });

  it('says when it has cut a write that was never acknowledged', async () => {
    const disk = new VolatileDisk();
    const first = await openLog(disk);
    await first.write({ hardState: vote(1), entries: [entry(1, 1)] });
    void first.write({ entries: entryRange(2, 8, 1, 200) });
    let sector = 0;
    disk.crash((_path, what) => what === 'sector' && (sector += 1) > 1);
    const lines: string[] = [];
    const logger: Logger = { ...silentLogger, info: (_fields, message) => lines.push(message), child: () => logger };
    await openWriteAheadLog(LOG_OPTIONS, { disk: disk.mounted, logger });
    expect(lines).toContain('cut a write that was never acknowledged off the end of the log');
  });
});

describe('a read of a write-ahead log', () => {
  it('that began before a truncation does not return what it cut', async () => {
    const disk = new VolatileDisk();
    const store = await openLog(disk);
    await store.write({ hardState: vote(1), entries: entryRange(1, 6, 1) });
    const reading = store.read(logIndex(1), logIndex(6), 10_000);
    const writing = store.write({ hardState: vote(2), truncateFrom: logIndex(4), entries: [entry(4, 2)] });
    expect((await reading).slice(0, 3)).toEqual(entryRange(1, 3, 1));
    expect((await reading).slice(3)).not.toContainEqual(entry(4, 1));
    await writing;
    expect(await contentOf(store, logIndex(4))).toEqual([...entryRange(1, 3, 1), entry(4, 2)]);
  });

  it('refuses bytes that have changed since they were written', async () => {
    const disk = new VolatileDisk();
    const store = await openLog(disk);
    await store.write({ hardState: vote(1), entries: entryRange(1, 6, 1, 100) });
    const [path = ''] = await segmentPaths(disk);
    flipBit(disk, path, 500);
    await expect(store.read(logIndex(1), logIndex(6), 10_000)).rejects.toBeInstanceOf(DamagedLogError);
  });
});

describe('the segments of a write-ahead log', () => {
  it('are named by number and first index', async () => {
    const disk = new VolatileDisk();
    const store = await openLog(disk);
    await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
    await store.write({ entries: entryRange(4, 6, 1, 1_000) });
    await store.close();
    expect(await segmentPaths(disk)).toEqual([
      '/data/group-0/000000000001-0000000000000001.wal',
      '/data/group-0/000000000002-0000000000000004.wal',
    ]);
  });

  it('hold a batch whole: one that does not fit the rest goes into the next', async () => {
    const disk = new VolatileDisk();
    const store = await openLog(disk);
    for (let index = 1; index <= 5; index += 1) {
      await store.write({ ...(index === 1 ? { hardState: vote(1) } : {}), entries: [entry(index, 1, 2_500)] });
    }
    expect(await segmentPaths(disk)).toHaveLength(5);
    for (const path of await segmentPaths(disk)) expect(disk.bytes(path).length).toBe(SEGMENT_BYTES);
    expect(await contentOf(store, logIndex(5))).toHaveLength(5);
  });

  it('grow for a batch that is larger than a segment', async () => {
    const disk = new VolatileDisk();
    const store = await openLog(disk);
    const large = entryRange(2, 9, 1, 3_000);
    await store.write({ hardState: vote(1), entries: [entry(1, 1)] });
    await store.write({ entries: large });
    await store.write({ entries: [entry(10, 1)] });
    disk.crash();
    const found = await openLog(disk);
    expect(await contentOf(found)).toEqual([entry(1, 1), ...large, entry(10, 1)]);
    expect(await segmentPaths(disk)).toHaveLength(3);
  });

  it('are prepared before they are needed, in pieces that follow the log', async () => {
    const disk = new VolatileDisk();
    const segmentBytes = 4 * 1024 * 1024;
    const store = await openLog(disk, { segmentBytes });
    const prepared = async () => {
      const names = await disk.mounted.list(LOG_OPTIONS.directory);
      if (!names.includes('next.prepared')) return 0;
      return (await (await disk.mounted.open('/data/group-0/next.prepared', 'existing')).size()) / segmentBytes;
    };
    let index = 0;
    const fill = async (toShare: number) => {
      for (; index * 100_000 < toShare * segmentBytes; index += 1) {
        await store.write({ ...(index === 0 ? { hardState: vote(1) } : {}), entries: [entry(index + 1, 1, 100_000)] });
      }
    };
    expect(await prepared()).toBe(0);
    await fill(0.2);
    await expect.poll(prepared).toBe(0.5);
    await fill(0.6);
    await expect.poll(prepared).toBe(1);
    await store.close();
  });

  it('that were prepared by an earlier run are used when whole, and made again when not', async () => {
    for (const size of [SEGMENT_BYTES, SEGMENT_BYTES / 2]) {
      const disk = new VolatileDisk();
      const first = await openLog(disk);
      await first.close();
      const file = await disk.mounted.open('/data/group-0/next.prepared', 'create');
      await file.append(0, [new Uint8Array(size)]);
      const store = await openLog(disk);
      await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
      await store.write({ entries: entryRange(4, 6, 1, 1_000) });
      disk.crash();
      const found = await openLog(disk);
      expect(found.durable.lastIndex).toBe(6);
      const [, second = ''] = await segmentPaths(disk);
      expect(disk.bytes(second).length).toBe(SEGMENT_BYTES);
    }
  });
});

describe('a write-ahead log whose disk fails', () => {
  it('rejects every write from then on with the same error', async () => {
    const disk = new VolatileDisk();
    const store = await openLog(disk);
    await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1) });
    disk.failNext('append', 'IO');
    const error: unknown = await store.write({ entries: [entry(4, 1)] }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(DiskError);
    await expect(store.write({ entries: [entry(4, 1)] })).rejects.toBe(error);
    await expect(store.write({ hardState: vote(2), entries: [] })).rejects.toBe(error);
    expect(await contentOf(store, logIndex(3))).toEqual(entryRange(1, 3, 1));
    await store.close();
  });

  it('rejects with NO_SPACE when the disk is full, for good', async () => {
    const disk = new VolatileDisk();
    const store = await openLog(disk);
    disk.free = SEGMENT_BYTES / 2;
    let acknowledged = 0;
    let failure: unknown;
    for (let index = 1; failure === undefined && index < 100; index += 1) {
      const batch = { ...(index === 1 ? { hardState: vote(1) } : {}), entries: [entry(index, 1, 500)] };
      await store.write(batch).then(
        () => (acknowledged = index),
        (error: unknown) => (failure = error),
      );
    }
    expect(failure).toMatchObject({ name: 'DiskError', code: 'NO_SPACE' });
    expect(acknowledged).toBeGreaterThan(1);
    disk.free = Infinity;
    await expect(store.write({ entries: [entry(acknowledged + 1, 1)] })).rejects.toBe(failure);
    await store.close();
    disk.crash();
    const found = await openLog(disk);
    expect(found.durable.lastIndex).toBe(acknowledged);
  });

  it.each(['rename', 'syncDirectory', 'open'] as const)(
    'is as final when %s fails at a switch of segment',
    async (operation) => {
      const disk = new VolatileDisk();
      const store = await openLog(disk);
      await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
      await store.write({ hardState: vote(2), entries: [] });
      disk.failNext(operation, 'IO');
      const error: unknown = await store
        .write({ entries: entryRange(4, 6, 1, 1_000) })
        .catch((caught: unknown) => caught);
      expect(error).toMatchObject({ name: 'DiskError', code: 'IO' });
      await expect(store.write({ entries: [entry(4, 2)] })).rejects.toBe(error);
      await store.close();
      disk.crash();
      expect((await openLog(disk)).durable.lastIndex).toBe(3);
    },
  );
});
