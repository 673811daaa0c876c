import { describe, expect, it } from 'vitest';
import { logIndex } from '../../src/core/index.ts';
import { DamagedLogError } from '../../src/log-store/damaged-log-error.ts';
import { contentOf, entry, entryRange, vote } from './support/log-model.ts';
import { onMachine } from './support/machine.ts';
import { openLog, segmentPaths } from './support/wal-fixture.ts';

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
