/**
 * The next segment of a log is made of one that compaction has taken out of it. Nothing of that one may ever be read again: not after
 * a power failure at any operation of the disk, not by who reads it at the time.
 */

import { crc32 } from 'node:zlib';
import type { Disk, DiskFile } from '@holdfast/runtime';
import { SECTOR_BYTES } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { logIndex, term, type Entry } from '../../../src/core/index.ts';
import { DamagedLogError } from '../../../src/log-store/errors/damaged-log-error.ts';
import { inspectWriteAheadLog } from '../../../src/log-store/recovery/inspect.ts';
import type { LogStore } from '../../../src/log-store/contract/log-store.ts';
import { alterDisk } from '../support/alter-disk.ts';
import { CrashPoints, type DiskStep, type PowerCut } from '../support/crash-points.ts';
import { contentOf, entryRange, vote } from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';
import { LOG_OPTIONS, openLog, SEGMENT_BYTES, segmentPaths } from '../support/wal-fixture.ts';

const SPARE = '/data/group-0/spare.recycled';
const PREPARED = '/data/group-0/next.prepared';
const ENTRY_BYTES = 700;
/** So many fit in a segment. */
const BATCH = 5;

const upTo = (last: number): Entry[] => entryRange(1, last, 1, ENTRY_BYTES);

/** Compared by the thousands. */
function digests(entries: readonly Entry[]): string[] {
  return entries.map(({ index, term: inTerm, type, data }) =>
    [index, inTerm, type, data.length, crc32(data)].join(' '),
  );
}

async function writeTo(machine: Machine, store: LogStore, from: number, last: number): Promise<void> {
  for (let index = from; index <= last; index += BATCH) {
    const entries = entryRange(index, index + BATCH - 1, 1, ENTRY_BYTES);
    await store.write({ ...(index === 1 ? { hardState: vote(1) } : {}), entries });
    await machine.quiesce();
  }
}

/** A segment for each five entries. */
async function filled(machine: Machine, last = 20): Promise<void> {
  const store = await openLog(machine);
  await writeTo(machine, store, 1, last);
  await store.close();
}

async function snapshotAt(store: LogStore, index: number): Promise<void> {
  const configuration = new Uint8Array(0);
  const sink = await store.createSnapshot({ index: logIndex(index), term: term(1), configuration, origin: 'taken' });
  await sink.write(new Uint8Array(100).fill(index));
  await sink.finish();
}

async function compactTo(store: LogStore, index: number): Promise<void> {
  await snapshotAt(store, index);
  await store.compact(logIndex(index));
}

/** What a log asked of its disk, of everything that `use` did with it. */
async function stepsOf(machine: Machine, use: (store: LogStore) => Promise<void>): Promise<string[]> {
  const points = new CrashPoints(machine);
  const store = await openLog(machine, {}, points.on);
  await use(store);
  await store.close();
  return points.steps.map(({ what }) => what);
}

describe('a log that forgets segments', () => {
  it('makes its next ones of them, one at a time', () =>
    onMachine(async (machine) => {
      await filled(machine);
      const steps = await stepsOf(machine, async (store) => {
        for (let last = 20; last < 40; last += BATCH) {
          await compactTo(store, last - 3);
          await writeTo(machine, store, last + 1, last + BATCH);
        }
      });
      expect(steps.filter((what) => what.endsWith(`to ${SPARE}`)).length).toBeGreaterThan(3);
      expect(steps.filter((what) => what === `rename ${SPARE} to ${PREPARED}`).length).toBeGreaterThan(3);
      // The first compaction takes three segments out at once, and one of them is kept.
      expect(steps.filter((what) => what === `create ${PREPARED}`)).toHaveLength(1);
      const found = await openLog(machine);
      expect(await contentOf(found)).toEqual(upTo(40).slice(found.firstIndex - 1));
    }));

  it('uses one that was read before, too', () =>
    onMachine(async (machine) => {
      await filled(machine);
      const steps = await stepsOf(machine, async (store) => {
        await store.read(logIndex(1), logIndex(20), 1_000_000);
        await compactTo(store, 17);
      });
      expect(steps.filter((what) => what.endsWith(`to ${SPARE}`))).toHaveLength(1);
    }));

  it('keeps one for the program that opens it next', () =>
    onMachine(async (machine) => {
      await filled(machine);
      await stepsOf(machine, (store) => compactTo(store, 17));
      expect(machine.bytes(SPARE)).toHaveLength(SEGMENT_BYTES);
      const steps = await stepsOf(machine, (store) => writeTo(machine, store, 21, 30));
      expect(steps).toContain(`rename ${SPARE} to ${PREPARED}`);
    }));

  it('fills them with zeros before they are log again', () =>
    onMachine(async (machine) => {
      await filled(machine);
      let renamed = 0;
      const watched = (disk: Disk): Disk => ({
        ...alterDisk(disk, {}),
        rename: async (from, to) => {
          if (from === PREPARED) {
            renamed += 1;
            expect(machine.bytes(from)).toEqual(new Uint8Array(SEGMENT_BYTES));
          }
          await disk.rename(from, to);
        },
      });
      const store = await openLog(machine, {}, watched);
      await compactTo(store, 17);
      await writeTo(machine, store, 21, 40);
      expect(renamed).toBe(4);
      await store.close();
    }));

  it('removes one that somebody reads, and the read has what was there', () =>
    onMachine(async (machine) => {
      await filled(machine);
      const [first = '', second = ''] = await segmentPaths(machine);
      const points = new CrashPoints(machine);
      const beforeRead: (() => Promise<void>)[] = [];
      const store = await openLog(machine, {}, (disk) => ({
        ...points.on(disk),
        open: async (path, mode) => {
          const file = await points.on(disk).open(path, mode);
          if (path !== first) return file;
          const read = async (position: number, length: number) => {
            await beforeRead.pop()?.();
            return file.read(position, length);
          };
          return { path, read, size: () => file.size(), close: () => file.close() } as DiskFile;
        },
      }));
      await snapshotAt(store, 17);
      beforeRead.push(async () => {
        await store.compact(logIndex(17));
        await writeTo(machine, store, 21, 35);
      });
      expect(await store.read(logIndex(1), logIndex(BATCH), 100_000)).toEqual(upTo(BATCH));
      const steps = points.steps.map(({ what }) => what);
      expect(steps).toContain(`remove ${first}`);
      expect(steps).toContain(`rename ${second} to ${SPARE}`);
      await store.close();
    }));

  it('does not make one of a segment of another size', () =>
    onMachine(async (machine) => {
      await filled(machine);
      const store = await openLog(machine, { segmentBytes: 2 * SEGMENT_BYTES });
      await compactTo(store, 17);
      expect(machine.files()).not.toContain(SPARE);
      await store.close();
    }));

  it('gives up the one that it keeps when it may keep none', () =>
    onMachine(async (machine) => {
      await filled(machine);
      const store = await openLog(machine);
      await compactTo(store, 17);
      expect(machine.files()).toContain(SPARE);
      store.allowSpare(false);
      await store.close();
      expect(machine.files()).not.toContain(SPARE);
    }));

  it('shows no damage to who inspects it at the time', () =>
    onMachine(async (machine) => {
      await filled(machine);
      const store = await openLog(machine);
      const [first = ''] = await segmentPaths(machine);
      let compacted = false;
      const late = (disk: Disk): Disk => ({
        ...alterDisk(disk, {}),
        open: async (path, mode) => {
          const file = await disk.open(path, mode);
          // It has the first segment open when that becomes the next one.
          if (path === first && !compacted) {
            compacted = true;
            await compactTo(store, 17);
            await writeTo(machine, store, 21, 30);
          }
          return file;
        },
      });
      const summary = await inspectWriteAheadLog(LOG_OPTIONS, { disk: late(machine.disk) });
      expect(compacted).toBe(true);
      expect(summary).toMatchObject({ damage: undefined, lastIndex: 30, snapshot: { index: 17 } });
      expect(summary.segments.length).toBeLessThan(4);
    }));
});

interface Progress {
  readonly snapshots: number[];
  acknowledged: number;
  submitted: number;
}

/** Forgets before the first write and between others, so that segments are made of what went at once, later, and again. */
async function play(machine: Machine, store: LogStore, progress: Progress): Promise<void> {
  const write = async (entries: Entry[], quiesces: boolean) => {
    progress.submitted = entries.at(-1)?.index ?? 0;
    await store.write({ entries });
    progress.acknowledged = progress.submitted;
    if (quiesces) await machine.quiesce();
  };
  const compact = async (index: number) => {
    progress.snapshots.push(index);
    await compactTo(store, index);
  };
  await compact(7);
  await write(entryRange(21, 21, 1, ENTRY_BYTES), true);
  await compact(17);
  await write(entryRange(22, 26, 1, ENTRY_BYTES), true);
  await write(entryRange(27, 30, 1, ENTRY_BYTES), false);
  await compact(26);
  await write(entryRange(31, 34, 1, ENTRY_BYTES), false);
  await store.close();
}

/** Runs it on a machine with a log of 20 entries up to the power failure. */
async function playUntil(
  machine: Machine,
  cut?: PowerCut,
  alter: (disk: Disk) => Disk = (same) => same,
): Promise<Progress & { readonly steps: readonly DiskStep[] }> {
  await filled(machine);
  const points = new CrashPoints(machine, cut);
  const progress: Progress = { snapshots: [], acknowledged: 20, submitted: 20 };
  const all = openLog(machine, {}, (disk) => alter(points.on(disk))).then((store) => play(machine, store, progress));
  await Promise.race([all, points.cut]);
  return { ...progress, steps: points.steps };
}

async function expectWhole(machine: Machine, progress: Progress, where: string): Promise<void> {
  const store = await openLog(machine);
  const { lastIndex, snapshot, base, hardState } = store.durable;
  expect([progress.acknowledged, progress.submitted], where).toContain(lastIndex);
  expect([undefined, ...progress.snapshots], where).toContain(snapshot?.index);
  expect(base.index, where).toBeLessThanOrEqual(snapshot?.index ?? 0);
  expect(hardState, where).toEqual(vote(1));
  expect(digests(await contentOf(store)), where).toEqual(digests(upTo(lastIndex).slice(store.firstIndex - 1)));
  // It goes on, and into what a crash has left half filled.
  const last = lastIndex + 3 * BATCH;
  await writeTo(machine, store, lastIndex + 1, last);
  machine.crash();
  const again = await openLog(machine);
  expect(digests(await contentOf(again)), where).toEqual(digests(upTo(last).slice(again.firstIndex - 1)));
}

function cutsOf(steps: readonly DiskStep[]): PowerCut[] {
  return steps.flatMap(({ bytes }, step): PowerCut[] => {
    const cuts: PowerCut[] = [
      { step, type: 'before', unsynced: 'none' },
      { step, type: 'before', unsynced: 'all' },
    ];
    for (let at = SECTOR_BYTES; at < bytes; at += SECTOR_BYTES) {
      cuts.push({ step, type: 'within', from: 0, to: at }, { step, type: 'within', from: at, to: bytes });
    }
    return cuts;
  });
}

async function scriptSteps(): Promise<readonly DiskStep[]> {
  let steps: readonly DiskStep[] = [];
  await onMachine(async (machine) => {
    ({ steps } = await playUntil(machine));
  });
  return steps;
}

describe('a log that makes segments of those that it forgot, when its power fails', () => {
  it('before any operation of its disk or within any write, has everything that was acknowledged, and goes on', async () => {
    const steps = await scriptSteps();
    expect(steps.filter(({ what }) => what === `rename ${SPARE} to ${PREPARED}`)).toHaveLength(3);
    const cuts = cutsOf(steps);
    expect(cuts.length).toBeGreaterThan(150);
    for (const cut of cuts) {
      await onMachine(async (machine) => {
        const progress = await playUntil(machine, cut);
        await expectWhole(machine, progress, `${JSON.stringify(cut)}: ${steps[cut.step]?.what}`);
      });
    }
  });

  it('at any time, with any of what was not durable on the disk, has everything that was acknowledged', async () => {
    for (let seed = 1; seed <= 150; seed += 1) {
      await onMachine(async (machine) => {
        await filled(machine);
        const progress: Progress = { snapshots: [], acknowledged: 20, submitted: 20 };
        void openLog(machine).then((store) => play(machine, store, progress));
        await machine.crashAfter((seed * 31.7) % 3_100, 'random');
        await expectWhole(machine, progress, `seed ${seed}`);
      }, seed);
    }
  });

  it('would lose acknowledged entries, were a segment filled before its old name is gone for good', async () => {
    const hasty = (disk: Disk): Disk => {
      let skipped = false;
      return {
        ...alterDisk(disk, {}),
        rename: async (from, to) => {
          skipped = to === SPARE;
          await disk.rename(from, to);
        },
        syncDirectory: async (path) => {
          if (!skipped) await disk.syncDirectory(path);
          skipped = false;
        },
      };
    };
    const steps = await scriptSteps();
    let lost = 0;
    for (const step of steps.keys()) {
      await onMachine(async (machine) => {
        const cut: PowerCut = { step, type: 'before', unsynced: 'none' };
        const { acknowledged } = await playUntil(machine, cut, hasty);
        const found = await openLog(machine).then(
          ({ durable }) => durable.lastIndex,
          (error: unknown) => {
            expect(error).toBeInstanceOf(DamagedLogError);
            return 0;
          },
        );
        if (found < acknowledged) lost += 1;
      });
    }
    expect(lost).toBeGreaterThan(0);
  });
});
