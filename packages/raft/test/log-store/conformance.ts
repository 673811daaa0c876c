/** What every log store promises. Run by the tests of each implementation. */

import { DiskError } from '@holdfast/runtime';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logIndex } from '../../src/core/index.ts';
import type { LogStore } from '../../src/log-store/log-store.ts';
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

export interface LogStoreFixture {
  /** The store over what earlier ones of this fixture have written; they were closed. */
  open(): Promise<LogStore>;
  /** Where there is a disk: its next durable write fails after that share of the bytes has been written. */
  failNextWrite?(writtenShare: number): void;
}

export const batchPlan: fc.Arbitrary<BatchPlan> = fc.record({
  termStep: fc.constantFrom(0, 0, 1, 3),
  vote: fc.integer({ min: 0, max: 3 }),
  cut: fc.constantFrom(0, 0, 0, 1, 4, 50),
  sizes: fc.array(fc.constantFrom(0, 1, 7, 8, 100, 700, 3_000), { maxLength: 6 }),
});

/** `run` gives a test a new fixture and drives it to its end. */
export function describeLogStore(
  name: string,
  run: (test: (fixture: LogStoreFixture) => Promise<void>) => Promise<void>,
  numRuns = 60,
): void {
  const test = (promise: string, body: (fixture: LogStoreFixture) => Promise<void>) => {
    it(promise, () => run(body));
  };

  describe(`${name}, as a log store`, () => {
    test('begins empty', async (fixture) => {
      const store = await fixture.open();
      expect(store.durable).toEqual(durableStateOf(EMPTY_MODEL));
      expect(await store.read(logIndex(1), logIndex(10), 1_000)).toEqual([]);
      await store.close();
    });

    it('finds after a restart what was written, whatever the batches', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(batchPlan, { maxLength: 12 }), { maxLength: 4 }), (lives) =>
          run(async (fixture) => {
            let model = EMPTY_MODEL;
            for (const plans of lives) {
              const store = await fixture.open();
              expect(store.durable).toEqual(durableStateOf(model));
              for (const plan of plans) {
                const batch = planned(plan, model);
                await store.write(batch);
                model = after(model, batch);
              }
              expect(await contentOf(store, logIndex(model.entries.length))).toEqual(model.entries);
              await store.close();
            }
            const store = await fixture.open();
            expect(store.durable).toEqual(durableStateOf(model));
            expect(await contentOf(store)).toEqual(model.entries);
            await store.close();
          }),
        ),
        { numRuns },
      );
    });

    test('says in `durable` what the start found, whatever is written later', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(3), entries: entryRange(1, 3, 3) });
      expect(store.durable).toEqual(durableStateOf(EMPTY_MODEL));
      await store.close();
    });

    test('reads as many entries as fit in the bytes asked for, and at least one', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(1), entries: entryRange(1, 10, 1, 100) });
      const indexes = async (from: number, to: number, maxBytes: number) =>
        (await store.read(logIndex(from), logIndex(to), maxBytes)).map((one) => Number(one.index));
      expect(await indexes(3, 9, 250)).toEqual([3, 4]);
      expect(await indexes(3, 9, 300)).toEqual([3, 4, 5]);
      expect(await indexes(3, 9, 1)).toEqual([3]);
      expect(await indexes(8, 9, 10_000)).toEqual([8, 9]);
      expect(await indexes(8, 1_000, 10_000)).toEqual([8, 9, 10]);
      expect(await indexes(11, 1_000, 10_000)).toEqual([]);
      await store.close();
    });

    test('never reads what a write under way has cut', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(1), entries: entryRange(1, 6, 1) });
      const writing = store.write({ hardState: vote(2), truncateFrom: logIndex(4), entries: [entry(4, 2)] });
      const during = await store.read(logIndex(1), logIndex(6), 10_000);
      await writing;
      expect(during.slice(0, 3)).toEqual(entryRange(1, 3, 1));
      for (const late of during.slice(3)) expect(late).toEqual(entry(4, 2));
      expect(await store.read(logIndex(4), logIndex(6), 10_000)).toEqual([entry(4, 2)]);
      await store.close();
    });

    test('refuses a batch that cannot follow the log', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(2), entries: entryRange(1, 3, 2) });
      await expect(store.write({ entries: [entry(5, 2)] }), 'a gap').rejects.toThrow('entry 5 follows entry 3');
      await expect(store.write({ entries: [entry(4, 1)] }), 'a falling term').rejects.toThrow('term falls');
      await expect(store.write({ entries: [entry(4, 3)] }), 'a term not yet durable').rejects.toThrow(
        'beyond the hard state',
      );
      await expect(store.write({ hardState: vote(1), entries: [] }), 'an older hard state').rejects.toThrow(
        'falls from 2',
      );
      await store.write({ entries: [entry(4, 2)] });
      expect(await contentOf(store, logIndex(4))).toEqual(entryRange(1, 4, 2));
      await store.close();
    });

    test('takes the first failed write for final, and finds all of it or nothing after a restart', async (fixture) => {
      if (fixture.failNextWrite === undefined) return;
      let model = EMPTY_MODEL;
      for (const writtenShare of [0, 0.3, 0.9, 1]) {
        const store = await fixture.open();
        const batch = planned({ termStep: 1, vote: 2, cut: 1, sizes: [700, 100, 700] }, model);
        fixture.failNextWrite(writtenShare);
        await expect(store.write(batch)).rejects.toThrow(DiskError);
        await expect(store.write({ entries: [] }), 'a later write').rejects.toThrow(DiskError);
        await store.close();
        const reopened = await fixture.open();
        const found = await modelOf(reopened);
        expect([model, after(model, batch)]).toContainEqual(found);
        if (writtenShare < 1) expect(found).toEqual(model);
        const next = planned({ termStep: 1, vote: 1, cut: 0, sizes: [8, 3_000] }, found);
        await reopened.write(next);
        model = after(found, next);
        await reopened.close();
      }
      const last = await fixture.open();
      expect(await modelOf(last)).toEqual(model);
      await last.close();
    });

    test('does nothing more once it is closed', async (fixture) => {
      const store = await fixture.open();
      await store.close();
      await expect(store.write({ hardState: vote(1), entries: [] })).rejects.toThrow('closed');
      await expect(store.read(logIndex(1), logIndex(1), 1)).rejects.toThrow('closed');
      await store.close();
    });
  });
}
