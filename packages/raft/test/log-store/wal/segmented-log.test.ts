import { DiskError, type Disk, type DiskFile } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { logIndex, term } from '../../../src/core/index.ts';
import { contentOf, entry, entryRange, vote } from '../support/log-model.ts';
import { onMachine } from '../support/machine.ts';
import { openLog, SEGMENT_BYTES } from '../support/wal-fixture.ts';

function bound(target: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key, target);
  return typeof value === 'function' ? value.bind(target) : value;
}

describe('a write-ahead log that is closed', () => {
  it('ends the write under way first', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1) });
      let written = false;
      const writing = store.write({ entries: [entry(4, 1)] }).then(() => (written = true));
      await store.close();
      expect(written).toBe(true);
      await writing;
      machine.crash();
      expect((await openLog(machine)).durable.lastIndex).toBe(4);
    }));

  it('has closed every file that it or its start has opened', () =>
    onMachine(async (machine) => {
      const open = new Set<DiskFile>();
      const counting = (disk: Disk): Disk =>
        new Proxy(disk, {
          get: (target, key) => {
            if (key !== 'open') return bound(target, key);
            return async (path: string, mode: 'create' | 'existing') => {
              const file = await target.open(path, mode);
              open.add(file);
              const closing = (at: DiskFile, name: string | symbol): unknown =>
                name === 'close' ? () => (open.delete(at), at.close()) : bound(at, name);
              return new Proxy(file, { get: closing });
            };
          },
        });
      for (let start = 0; start < 3; start += 1) {
        const store = await openLog(machine, {}, counting);
        const first = 1 + 20 * start;
        const head = start === 0 ? { hardState: vote(1) } : {};
        await store.write({ ...head, entries: [entry(first, 1)] });
        for (let index = first + 1; index < first + 20; index += 1) {
          await store.write({ entries: [entry(index, 1, 1_000)] });
        }
        await store.read(logIndex(first), logIndex(first + 10), 100_000);
        const position = { index: logIndex(first + 10), term: term(1) };
        const sink = await store.createSnapshot({ ...position, configuration: new Uint8Array(0), origin: 'taken' });
        await sink.write(new Uint8Array(1_000));
        await sink.finish();
        await (await store.openSnapshot())?.close();
        await store.compact(logIndex(first + 5));
        await store.close();
        expect([...open].map(({ path }) => path)).toEqual([]);
      }
    }));

  it('is closed though the write under way fails', () =>
    onMachine(async (machine) => {
      const store = await openLog(machine);
      await store.write({ hardState: vote(1), entries: entryRange(1, 3, 1) });
      machine.failNext('append', 'IO');
      const writing = expect(store.write({ entries: [entry(4, 1)] })).rejects.toThrow(/IO/);
      await store.close();
      await writing;
      machine.crash();
      expect((await openLog(machine)).durable.lastIndex).toBe(3);
    }));
});

describe('a write-ahead log whose disk fails', () => {
  it('rejects every write from then on with the same error [fsync-failed-then-succeeds]', () =>
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
