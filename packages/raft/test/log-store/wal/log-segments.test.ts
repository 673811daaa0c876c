import { describe, expect, it } from 'vitest';
import { logIndex, term } from '../../../src/core/index.ts';
import { contentOf, entry, entryRange, vote } from '../support/log-model.ts';
import { onMachine } from '../support/machine.ts';
import { LOG_OPTIONS, openLog, SEGMENT_BYTES, segmentPaths } from '../support/wal-fixture.ts';

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

  it('begin small, so that a first start does not wait for zeros, and are each twice the one before', () =>
    onMachine(async (machine) => {
      const MIB = 1024 * 1024;
      let store = await openLog(machine, { segmentBytes: 16 * MIB });
      let index = 0;
      const fill = async (bytes: number) => {
        for (const end = index + Math.ceil(bytes / 500_000); index < end; index += 1) {
          await store.write({
            ...(index === 0 ? { hardState: vote(1) } : {}),
            entries: [entry(index + 1, 1, 500_000)],
          });
          await machine.quiesce();
        }
      };
      const sizes = async () => {
        const names = await machine.disk.list(LOG_OPTIONS.directory);
        const paths = names.filter((name) => name.endsWith('.wal') || name === 'next.prepared');
        return paths.map((name) => machine.bytes(`${LOG_OPTIONS.directory}/${name}`).length / MIB);
      };
      expect(await sizes()).toEqual([4]);
      await fill(2 * MIB);
      // Half of the present one is used, and the next one is there.
      expect(await sizes()).toEqual([4, 8]);
      await fill(4 * MIB);
      await store.close();
      store = await openLog(machine, { segmentBytes: 16 * MIB });
      await fill(8 * MIB);
      await fill(18 * MIB);
      expect((await sizes()).slice(0, 4)).toEqual([4, 8, 16, 16]);
      await store.close();
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
      await machine.quiesce();
      expect(await prepared()).toBe(0.5);
      await fill(0.6);
      await machine.quiesce();
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

  it.each([
    ['as the process knows that wrote them', false],
    ['as one knows that was started since', true],
  ])('stay while a later one cuts the log before them, %s: a start could not tell how the log begins', (_, restarted) =>
    onMachine(async (machine) => {
      const written = await openLog(machine);
      await written.write({ hardState: vote(1), entries: entryRange(1, 3, 1, 1_000) });
      await written.write({ entries: entryRange(4, 6, 1, 1_000) });
      await written.write({ hardState: vote(2), truncateFrom: logIndex(3), entries: entryRange(3, 5, 2, 1_000) });
      if (restarted) machine.crash();
      const store = restarted ? await openLog(machine) : written;
      const configuration = new Uint8Array(0);
      const meta = { index: logIndex(4), term: term(2), origin: 'taken', configuration } as const;
      await (await store.createSnapshot(meta)).finish();
      await store.compact(logIndex(4));
      machine.crash();
      const found = await openLog(machine);
      expect(found.durable).toMatchObject({ lastIndex: 5, snapshot: { index: 4, term: 2 } });
      expect(await found.read(logIndex(5), logIndex(5), 10_000)).toEqual(entryRange(5, 5, 2, 1_000));
      // The next segment begins behind the cut, so that all before it may go.
      await found.write({ entries: entryRange(6, 8, 2, 1_000) });
      await (await found.createSnapshot({ ...meta, index: logIndex(6) })).finish();
      await found.compact(logIndex(6));
      expect(await segmentPaths(machine)).toHaveLength(1);
      expect(found.firstIndex).toBe(6);
      machine.crash();
      expect((await openLog(machine)).durable).toMatchObject({ lastIndex: 8, base: { index: 5, term: 2 } });
    }),
  );
});
