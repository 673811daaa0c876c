import { DiskError } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { DamagedLogError } from '../../../src/log-store/errors/damaged-log-error.ts';
import { inspectWriteAheadLog } from '../../../src/log-store/recovery/inspect.ts';
import { contentOf, entry, entryRange, vote } from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';
import { LOG_OPTIONS, nextPosition, openLog, segmentPaths, usedBytes, writeTorn } from '../support/wal-fixture.ts';
import { onLog } from '../support/written-log.ts';

async function damageOf(machine: Machine): Promise<DamagedLogError> {
  const error: unknown = await openLog(machine).then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (!(error instanceof DamagedLogError)) throw new Error('the log was opened', { cause: error });
  return error;
}

describe('a damaged log', () => {
  it('is refused when a bit has flipped before the last batch, wherever', () =>
    onLog(6, 100, async ({ machine, paths, ends }) => {
      const [path = ''] = paths;
      const lastBatch = ends.at(-2) ?? 0;
      for (let offset = 0; offset < lastBatch; offset += 3) {
        machine.flipBit(path, offset);
        const error: unknown = await openLog(machine).catch((caught: unknown) => caught);
        machine.flipBit(path, offset);
        // Never as another server's: what a damaged header names is not true.
        expect(error, `offset ${offset}`).toBeInstanceOf(DamagedLogError);
      }
      expect(await contentOf(await openLog(machine))).toEqual(entryRange(1, 6, 1, 100));
    }));

  it.each([0, 0.2, 0.4, 0.6, 0.8, 0.99])(
    'is cut when the flipped bit is in the last batch (%d of it), which may never have been acknowledged',
    (share) =>
      onLog(6, 100, async ({ machine, paths, ends }) => {
        const from = nextPosition(ends[4] ?? 0);
        const to = ends[5] ?? 0;
        machine.flipBit(paths[0] ?? '', from + Math.floor(share * (to - from)));
        const store = await openLog(machine);
        expect(await contentOf(store)).toEqual(entryRange(1, 5, 1, 100));
        await store.write({ entries: [entry(6, 1, 1)] });
        expect((await openLog(machine)).durable.lastIndex).toBe(6);
      }),
  );

  it('is refused when the flipped bit is in the last batch of a log that was closed: all of it was acknowledged', () =>
    onLog(6, 100, async ({ machine, paths, ends }) => {
      await (await openLog(machine)).close();
      machine.crash();
      machine.flipBit(paths[0] ?? '', (ends[4] ?? 0) + 40);
      const { reason } = await damageOf(machine);
      expect(reason).toContain(`where batches that were acknowledged went on to byte ${ends[5]}`);
    }));

  it('names the file, the place, the reason, and what to do', () =>
    onLog(6, 100, async ({ machine, paths, ends }) => {
      const [path = ''] = paths;
      machine.flipBit(path, (ends[1] ?? 0) + 40);
      const error = await damageOf(machine);
      expect(error).toMatchObject({ file: path, code: 'DAMAGED_LOG' });
      expect(error.offset % 8).toBe(0);
      expect(error.offset).toBeGreaterThanOrEqual(ends[1] ?? 0);
      expect(error.reason).toMatch(/^the checksum of a batch is wrong, before a valid batch at byte \d+$/);
      expect(error.message).toContain('replace the server');
    }));

  it('is refused when a batch in the middle has become zeros', () =>
    onLog(6, 100, async ({ machine, paths, ends }) => {
      const from = nextPosition(ends[1] ?? 0);
      const to = ends[2] ?? 0;
      await machine.overwrite(paths[0] ?? '', from, new Uint8Array(to - from));
      expect((await damageOf(machine)).reason).toContain('before a valid batch');
    }));

  it('is refused when a segment in the middle is missing', () =>
    onLog(4, 3_000, async ({ machine, paths }) => {
      expect(paths).toHaveLength(4);
      await machine.disk.remove(paths[1] ?? '');
      expect((await damageOf(machine)).reason).toBe('segment 2, which comes before it, is missing');
    }));

  it('is refused when the first segment is missing', () =>
    onLog(4, 3_000, async ({ machine, paths }) => {
      await machine.disk.remove(paths[0] ?? '');
      expect((await damageOf(machine)).reason).toMatch(
        /^segment 1, which comes before it, is missing, and no snapshot holds/,
      );
    }));

  it('is refused when its only segment has been emptied, rather than taken for a new log', () =>
    onLog(3, 100, async ({ machine, paths }) => {
      const file = await machine.disk.open(paths[0] ?? '', 'existing');
      await file.truncate(0);
      await file.sync();
      await file.close();
      expect((await damageOf(machine)).reason).toBe('it has been cut to 0 bytes');
    }));

  it('is refused when the header of a segment is damaged and there are later ones', () =>
    onLog(4, 3_000, async ({ machine, paths }) => {
      machine.flipBit(paths[1] ?? '', 0);
      expect(await damageOf(machine)).toMatchObject({ file: paths[1], offset: 0 });
    }));

  it('is refused when an earlier segment ends too soon', () =>
    onLog(8, 1_500, async ({ machine, paths }) => {
      const [, second = ''] = paths;
      // The last batch of the segment, and nothing else, has become zeros: only the next header knows that it was there.
      const bytes = machine.bytes(second);
      const store = await inspectWriteAheadLog({ ...LOG_OPTIONS }, { disk: machine.disk });
      const used = store.segments[1]?.usedBytes ?? 0;
      const lastBatch = bytes.findLastIndex((_, at) => at < used - 24 && at % 8 === 0 && isEntriesFrame(bytes, at));
      await machine.overwrite(second, lastBatch, new Uint8Array(used - lastBatch));
      expect((await damageOf(machine)).reason).toBe(`its records end here, but once went on to byte ${used}`);
    }));

  it.each([
    ['has a flipped bit', (machine: Machine, path: string) => Promise.resolve(machine.flipBit(path, 2_000))],
    ['begins with zeros', (machine: Machine, path: string) => machine.overwrite(path, 0, new Uint8Array(512))],
  ])('is refused when the last batch before a still empty segment %s: it was acknowledged', (_what, damage) =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
      machine.failNext('append', 'IO');
      await expect(store.write({ entries: entryRange(4, 6, 1, 1_000) })).rejects.toThrow(DiskError);
      machine.crash();
      const [first = '', ...later] = await segmentPaths(machine);
      expect(later).toHaveLength(1);
      await damage(machine, first);
      expect((await damageOf(machine)).reason).toContain('there are later segments');
    }),
  );

  it('is refused when such a batch in the middle of its segment begins with zeros', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: [entry(1, 1)] });
      const position = nextPosition(usedBytes(machine, (await segmentPaths(machine))[0] ?? ''));
      await store.write({ entries: entryRange(2, 4, 1, 1_000) });
      machine.failNext('append', 'IO');
      await expect(store.write({ entries: entryRange(5, 7, 1, 1_000) })).rejects.toThrow(DiskError);
      machine.crash();
      const [first = ''] = await segmentPaths(machine);
      await machine.overwrite(first, position, new Uint8Array(512));
      expect((await damageOf(machine)).reason).toBe('zeros before other bytes, and there is a later segment');
    }));

  it('is refused when two segments were exchanged', () =>
    onLog(4, 3_000, async ({ machine, paths }) => {
      const [, second = '', third = ''] = paths;
      const [inSecond, inThird] = [machine.bytes(second), machine.bytes(third)];
      await machine.overwrite(second, 0, inThird);
      await machine.overwrite(third, 0, inSecond);
      await damageOf(machine);
    }));

  it('is not confused by valid bytes of another place: they count as never written', () =>
    onLog(6, 100, async ({ machine, paths, ends }) => {
      const [path = ''] = paths;
      const stale = machine.bytes(path).slice(ends[1], ends[3]);
      await machine.overwrite(path, nextPosition(ends[5] ?? 0), stale);
      expect(await contentOf(await openLog(machine))).toEqual(entryRange(1, 6, 1, 100));
    }));

  it('is not made by entries whose data look like a batch', () =>
    onLog(3, 100, async ({ machine, paths, ends }) => {
      const forged = machine.bytes(paths[0] ?? '').slice(0, ends[2]);
      const store = await openLog(machine);
      await writeTorn(machine, store, {
        entries: [{ ...entry(4, 1), data: Buffer.concat([new Uint8Array(1_000), forged]) }],
      });
      const found = await openLog(machine);
      expect(await contentOf(found)).toEqual(entryRange(1, 3, 1, 100));
    }));

  it('is refused when a file has a name that no segment has', () =>
    onLog(2, 100, async ({ machine }) => {
      await machine.disk.open(`${LOG_OPTIONS.directory}/copy.wal`, 'create');
      expect((await damageOf(machine)).reason).toContain('its name');
    }));
});

function isEntriesFrame(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 4 && bytes[at + 1] === 0x48 && bytes[at + 2] === 0x46 && bytes[at + 3] === 0x57;
}
