import { DiskError, silentLogger, type Logger } from '@holdfast/runtime';
import type { Tear } from '@holdfast/runtime/sim';
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
  type BatchPlan,
} from './support/log-model.ts';
import { onMachine, type Machine } from './support/machine.ts';
import { LOG_OPTIONS, openLog, SEGMENT_BYTES, segmentPaths, usedBytes, writeTorn } from './support/wal-fixture.ts';

describeLogStore('the write-ahead log', (test) =>
  onMachine((machine) =>
    test({
      open: () => openLog(machine),
      failNextWrite: (writtenShare) => machine.failNext('append', 'IO', { pathIncludes: '.wal', writtenShare }),
    }),
  ),
);

describeLogStore('the write-ahead log on a disk that is slow and hangs', (test) =>
  onMachine((machine) => {
    machine.slowDown({ minMs: 1, maxMs: 1_500 });
    return test({
      open: () => {
        machine.hang(5_000);
        return openLog(machine);
      },
      failNextWrite: (writtenShare) => {
        machine.hang(10_000);
        machine.failNext('append', 'IO', { pathIncludes: '.wal', writtenShare });
      },
    });
  }),
);

interface Life {
  readonly plans: readonly BatchPlan[];
  readonly powerFailureMs: number;
  readonly tear: Tear;
}

describe('a write-ahead log over power failures', () => {
  it('has everything that was acknowledged, and nothing by halves, whenever the power fails', async () => {
    const life = fc.record({
      plans: fc.array(batchPlan, { maxLength: 15 }),
      powerFailureMs: fc.double({ min: 0, max: 60, noNaN: true }),
      tear: fc.constantFrom<Tear>('none', 'all', 'random', 'random'),
    });
    const lives = fc.array(life, { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(lives, fc.nat(), (each, seed) => onMachine((machine) => liveThrough(machine, each), seed)),
      { numRuns: 600 },
    );
  });

  async function liveThrough(machine: Machine, lives: readonly Life[]): Promise<void> {
    let acknowledged = EMPTY_MODEL;
    for (const { plans, powerFailureMs, tear } of lives) {
      let submitted = acknowledged;
      const write = async () => {
        const store = await openLog(machine);
        for (const plan of plans) {
          const batch = planned(plan, acknowledged);
          submitted = after(acknowledged, batch);
          await store.write(batch);
          acknowledged = submitted;
        }
      };
      void write();
      await machine.crashAfter(powerFailureMs, tear);
      const store = await openLog(machine);
      const found = await modelOf(store);
      expect(store.durable).toEqual(durableStateOf(found));
      expect([acknowledged, submitted]).toContainEqual(found);
      acknowledged = found;
      await store.close();
    }
  }

  it('does not let a cut write come back behind a later, shorter one', () =>
    onMachine(async (machine) => {
      const first = await openLog(machine);
      await first.write({ hardState: vote(1), entries: entryRange(1, 2, 1) });
      await writeTorn(machine, first, { entries: entryRange(3, 12, 1, 200) });
      const second = await openLog(machine);
      expect(await contentOf(second)).toEqual(entryRange(1, 2, 1));
      await second.write({ entries: [entry(3, 1)] });
      machine.crash();
      const [path = ''] = await segmentPaths(machine);
      expect(usedBytes(machine, path)).toBeLessThan(600);
      expect(await contentOf(await openLog(machine))).toEqual(entryRange(1, 3, 1));
    }));

  it('says when it has cut a write that was never acknowledged', () =>
    onMachine(async (machine) => {
      const first = await openLog(machine);
      await first.write({ hardState: vote(1), entries: [entry(1, 1)] });
      await writeTorn(machine, first, { entries: entryRange(2, 8, 1, 200) });
      const lines: string[] = [];
      const logger: Logger = { ...silentLogger, info: (_fields, message) => lines.push(message), child: () => logger };
      await openWriteAheadLog(LOG_OPTIONS, { disk: machine.disk, logger });
      expect(lines).toContain('cut a write that was never acknowledged off the end of the log');
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

  it('refuses bytes that have changed since they were written', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: entryRange(1, 6, 1, 100) });
      const [path = ''] = await segmentPaths(machine);
      machine.flipBit(path, 500);
      await expect(store.read(logIndex(1), logIndex(6), 10_000)).rejects.toBeInstanceOf(DamagedLogError);
    }));
});

describe('the segments of a write-ahead log', () => {
  it('are named by number and first index', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
      await store.write({ entries: entryRange(4, 6, 1, 1_000) });
      await store.close();
      expect(await segmentPaths(machine)).toEqual([
        '/data/group-0/000000000001-0000000000000001.wal',
        '/data/group-0/000000000002-0000000000000004.wal',
      ]);
    }));

  it('hold a batch whole: one that does not fit the rest goes into the next', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      for (let index = 1; index <= 5; index += 1) {
        await store.write({ ...(index === 1 ? { hardState: vote(1) } : {}), entries: [entry(index, 1, 2_500)] });
      }
      expect(await segmentPaths(machine)).toHaveLength(5);
      for (const path of await segmentPaths(machine)) expect(machine.bytes(path).length).toBe(SEGMENT_BYTES);
      expect(await contentOf(store, logIndex(5))).toHaveLength(5);
    }));

  it('grow for a batch that is larger than a segment', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      const large = entryRange(2, 9, 1, 3_000);
      await store.write({ hardState: vote(1), entries: [entry(1, 1)] });
      await store.write({ entries: large });
      await store.write({ entries: [entry(10, 1)] });
      machine.crash();
      const found = await openLog(machine);
      expect(await contentOf(found)).toEqual([entry(1, 1), ...large, entry(10, 1)]);
      expect(await segmentPaths(machine)).toHaveLength(3);
    }));

  it('are prepared before they are needed, in pieces that follow the log', () =>
    onMachine(async (machine) => {
      const segmentBytes = 4 * 1024 * 1024;
      const store = await openLog(machine, { segmentBytes });
      const prepared = async () => {
        const names = await machine.disk.list(LOG_OPTIONS.directory);
        if (!names.includes('next.prepared')) return 0;
        return (await (await machine.disk.open('/data/group-0/next.prepared', 'existing')).size()) / segmentBytes;
      };
      let index = 0;
      const fill = async (toShare: number) => {
        for (; index * 100_000 < toShare * segmentBytes; index += 1) {
          await store.write({
            ...(index === 0 ? { hardState: vote(1) } : {}),
            entries: [entry(index + 1, 1, 100_000)],
          });
        }
      };
      expect(await prepared()).toBe(0);
      await fill(0.2);
      await machine.settle();
      expect(await prepared()).toBe(0.5);
      await fill(0.6);
      await machine.settle();
      expect(await prepared()).toBe(1);
      await store.close();
    }));

  it.each([SEGMENT_BYTES, SEGMENT_BYTES / 2])(
    'of which an earlier run has prepared one of %d bytes are whole all the same',
    (size) =>
      onMachine(async (machine) => {
        const first = await openLog(machine);
        await first.close();
        await machine.createFile('/data/group-0/next.prepared', new Uint8Array(size));
        const store = await openLog(machine);
        await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
        await store.write({ entries: entryRange(4, 6, 1, 1_000) });
        machine.crash();
        const found = await openLog(machine);
        expect(found.durable.lastIndex).toBe(6);
        const [, second = ''] = await segmentPaths(machine);
        expect(machine.bytes(second).length).toBe(SEGMENT_BYTES);
      }),
  );
});

describe('a write-ahead log whose disk fails', () => {
  it('rejects every write from then on with the same error', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1) });
      machine.failNext('append', 'IO');
      const error: unknown = await store.write({ entries: [entry(4, 1)] }).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(DiskError);
      await expect(store.write({ entries: [entry(4, 1)] })).rejects.toBe(error);
      await expect(store.write({ hardState: vote(2), entries: [] })).rejects.toBe(error);
      expect(await contentOf(store, logIndex(3))).toEqual(entryRange(1, 3, 1));
      await store.close();
    }));

  it('rejects with NO_SPACE when the disk is full, for good', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      machine.setFreeBytes(SEGMENT_BYTES / 2);
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
      machine.setFreeBytes(2 ** 30);
      await expect(store.write({ entries: [entry(acknowledged + 1, 1)] })).rejects.toBe(failure);
      await store.close();
      machine.crash();
      const found = await openLog(machine);
      expect(found.durable.lastIndex).toBe(acknowledged);
    }));

  it.each(['rename', 'syncDirectory', 'open'] as const)(
    'is as final when %s fails at a switch of segment',
    (operation) =>
      onMachine(async (machine) => {
        const store = await openLog(machine);
        await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
        await store.write({ hardState: vote(2), entries: [] });
        machine.failNext(operation, 'IO');
        const error: unknown = await store
          .write({ entries: entryRange(4, 6, 1, 1_000) })
          .catch((caught: unknown) => caught);
        expect(error).toMatchObject({ name: 'DiskError', code: 'IO' });
        await expect(store.write({ entries: [entry(4, 2)] })).rejects.toBe(error);
        await store.close();
        machine.crash();
        expect((await openLog(machine)).durable.lastIndex).toBe(3);
      }),
  );
});
