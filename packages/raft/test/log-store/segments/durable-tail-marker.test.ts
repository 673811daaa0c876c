import { describe, expect, it } from 'vitest';
import { DamagedLogError } from '../../../src/log-store/errors/damaged-log-error.ts';
import { inspectWriteAheadLog } from '../../../src/log-store/recovery/inspect.ts';
import type { LogStore } from '../../../src/log-store/contract/log-store.ts';
import { CrashPoints } from '../support/crash-points.ts';
import { contentOf, entry, entryRange, vote } from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';
import { LOG_OPTIONS, openLog, SEGMENT_BYTES, segmentPaths } from '../support/wal-fixture.ts';

const MARK = '/data/group-0/last-segment';

/** A log of that many segments with one entry each. */
async function writeSegments(machine: Machine, count: number): Promise<string[]> {
  const store = await openLog(machine);
  for (let index = 1; index <= count; index += 1) {
    await store.write({ ...(index === 1 ? { hardState: vote(1) } : {}), entries: [entry(index, 1, 3_000)] });
  }
  await store.close();
  machine.crash();
  return segmentPaths(machine);
}

async function reasonOf(machine: Machine): Promise<string> {
  const before = machine.files().map((path) => [path, Buffer.from(machine.bytes(path)).toString('base64')]);
  const error: unknown = await openLog(machine).catch((caught: unknown) => caught);
  if (!(error instanceof DamagedLogError)) throw new Error('the log was opened', { cause: error });
  const { damage } = await inspectWriteAheadLog(LOG_OPTIONS, { disk: machine.disk });
  expect(damage).toEqual({ file: error.file, offset: error.offset, reason: error.reason });
  expect(machine.files().map((path) => [path, Buffer.from(machine.bytes(path)).toString('base64')])).toEqual(before);
  return error.reason;
}

describe('a log that has lost its last segment', () => {
  it('is refused, and says how far the log had got', () =>
    onMachine(async (machine) => {
      const paths = await writeSegments(machine, 3);
      await machine.disk.remove(paths[2] ?? '');
      expect(await reasonOf(machine)).toBe('segment 3 is missing, and the log had got to segment 3');
    }));

  it('is refused when that segment is there and all zeros', () =>
    onMachine(async (machine) => {
      const paths = await writeSegments(machine, 3);
      await machine.overwrite(paths[2] ?? '', 0, new Uint8Array(SEGMENT_BYTES));
      expect(await reasonOf(machine)).toBe('zeros where it began with a batch that was acknowledged');
    }));

  it('is refused when it was the only one and is all zeros: it is not a new log', () =>
    onMachine(async (machine) => {
      const [path = ''] = await writeSegments(machine, 1);
      await machine.overwrite(path, 0, new Uint8Array(SEGMENT_BYTES));
      expect(await reasonOf(machine)).toBe('zeros where it began with a batch that was acknowledged');
    }));

  it('is refused when the first batch of that segment is damaged', () =>
    onMachine(async (machine) => {
      const paths = await writeSegments(machine, 2);
      machine.flipBit(paths[1] ?? '', 1_000);
      expect(await reasonOf(machine)).toContain('where it began with a batch that was acknowledged');
    }));
});

describe('the mark of the last segment', () => {
  it.each([
    ['is missing', (machine: Machine) => machine.disk.remove(MARK)],
    ['is torn', (machine: Machine) => machine.overwrite(MARK, 10, new Uint8Array(9))],
    ['is empty', async (machine: Machine) => (await machine.disk.open(MARK, 'existing')).truncate(0)],
  ])('is made again by the next start when it %s', (_what, spoil) =>
    onMachine(async (machine) => {
      const paths = await writeSegments(machine, 2);
      await spoil(machine);
      const store = await openLog(machine);
      expect(await contentOf(store)).toEqual(entryRange(1, 2, 1, 3_000));
      await store.close();
      await machine.disk.remove(paths[1] ?? '');
      expect(await reasonOf(machine)).toContain('the log had got to segment 2');
    }),
  );

  it('of another directory counts for nothing', () =>
    onMachine(async (machine) => {
      await writeSegments(machine, 3);
      const foreign = machine.bytes(MARK);
      await machine.disk.removeTree('/data');
      const store = await openLog(machine, { incarnation: 'f'.repeat(32) });
      await store.write({ hardState: vote(1), entries: [entry(1, 1)] });
      await store.close();
      await machine.overwrite(MARK, 0, foreign);
      expect((await openLog(machine, { incarnation: 'f'.repeat(32) })).durable.lastIndex).toBe(1);
    }));

  it.each(Array.from({ length: 40 }, (_, n) => n))(
    'refuses nothing that a power failure leaves, and loses nothing (moment %i)',
    (moment) =>
      onMachine(async (machine) => {
        let acknowledged = 0;
        for (let life = 0; life < 3; life += 1) {
          const store = await openLog(machine);
          acknowledged = Math.max(acknowledged, store.durable.lastIndex);
          const crashed = machine.crashAfter(1 + moment * 0.7, moment % 2 === 0 ? 'random' : 'all');
          const first = acknowledged;
          const writing = (async () => {
            for (let index = first + 1; index <= first + 20; index += 1) {
              await store.write({ ...(index === 1 ? { hardState: vote(1) } : {}), entries: [entry(index, 1, 2_500)] });
              acknowledged = index;
            }
          })();
          await Promise.race([crashed, writing]);
          await crashed;
        }
        expect((await openLog(machine)).durable.lastIndex).toBeGreaterThanOrEqual(acknowledged);
      }, 100 + moment),
  );
});

describe('the mark of how far a log has got', () => {
  it('is written at a start only when the log has gone on since', () =>
    onMachine(async (machine) => {
      await writeSegments(machine, 2);
      const marksOf = async (use: (store: LogStore) => Promise<void> = async () => {}): Promise<number> => {
        const points = new CrashPoints(machine);
        const store = await openLog(machine, {}, points.on);
        const marks = points.steps.filter(({ what }) => what.includes(MARK)).length;
        await use(store);
        await store.close();
        return marks;
      };
      await marksOf();
      expect(await marksOf()).toBe(0);
      expect(await marksOf((store) => store.write({ hardState: vote(9), entries: [] }))).toBe(0);
      machine.kill();
      await marksOf();
      expect(await marksOf()).toBe(0);
    }));
});
