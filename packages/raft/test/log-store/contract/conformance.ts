/** What every log store promises. Run by the tests of each implementation. */

import { DiskError } from '@holdfast/runtime';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logIndex, term, type Entry } from '../../../src/core/index.ts';
import type { LogStore } from '../../../src/log-store/contract/log-store.ts';
import {
  bytesOf,
  type SnapshotInfo,
  type SnapshotMeta,
  type SnapshotOrigin,
} from '../../../src/log-store/contract/snapshot.ts';
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
} from '../support/log-model.ts';

export interface LogStoreFixture {
  /** The store over what earlier ones of this fixture have written; they were closed. */
  open(): Promise<LogStore>;
  /** Where there is a disk: its next durable write fails after that share of the bytes has been written. */
  failNextWrite?(writtenShare: number): void;
}

const CONFIGURATION = new Uint8Array([7, 0, 9]);

function meta(index: number, position: number, origin: SnapshotOrigin = 'taken'): SnapshotMeta {
  return { index: logIndex(index), term: term(position), configuration: CONFIGURATION, origin };
}

/** Writes one in uneven pieces. */
async function snapshotOf(
  store: LogStore,
  index: number,
  position: number,
  bytes: number,
  origin: SnapshotOrigin = 'taken',
): Promise<{ readonly data: Uint8Array; readonly info: SnapshotInfo }> {
  const data = Uint8Array.from({ length: bytes }, (_, at) => (at * 31 + index) % 256);
  const sink = await store.createSnapshot(meta(index, position, origin));
  for (let at = 0; at < bytes; at += 1 + (at % 400)) await sink.write(data.subarray(at, at + 1 + (at % 400)));
  expect(sink.bytes).toBe(bytes);
  return { data, info: await sink.finish() };
}

async function readSnapshot(store: LogStore): Promise<Uint8Array> {
  const source = await store.openSnapshot();
  if (source === undefined) throw new Error('there is no snapshot');
  const parts: Uint8Array[] = [];
  for await (const part of bytesOf(source)) parts.push(Uint8Array.from(part));
  await source.close();
  return Uint8Array.from(Buffer.concat(parts));
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

    test('keeps a snapshot that was finished, with every byte, and nothing of one that was not', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(2), entries: entryRange(1, 20, 2) });
      expect(store.snapshot).toBeUndefined();
      expect(await store.openSnapshot()).toBeUndefined();
      const { data, info } = await snapshotOf(store, 10, 2, 5_000);
      expect(info).toMatchObject({ index: 10, term: 2, bytes: 5_000, configuration: CONFIGURATION });
      const sealed = await store.createSnapshot(meta(15, 2));
      await sealed.write(new Uint8Array([1, 2, 3]));
      const source = await sealed.seal();
      expect(Array.from(await source.read(0))).toEqual([1, 2, 3]);
      await source.close();
      expect(store.snapshot?.index).not.toBe(15);
      await sealed.abort();
      const left = await store.createSnapshot(meta(15, 2));
      await left.write(data);
      await left.abort();
      expect(await readSnapshot(store)).toEqual(data);
      await store.close();
      const again = await fixture.open();
      expect(again.durable.snapshot).toEqual({ index: 10, term: 2, configuration: CONFIGURATION });
      expect(again.snapshot).toEqual(info);
      expect(await readSnapshot(again)).toEqual(data);
      expect(await contentOf(again)).toEqual(entryRange(1, 20, 2));
      await again.close();
    });

    test('keeps an empty snapshot too', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(1), entries: entryRange(1, 2, 1) });
      await snapshotOf(store, 2, 1, 0);
      await store.close();
      const again = await fixture.open();
      expect(again.snapshot).toMatchObject({ index: 2, bytes: 0 });
      expect(await readSnapshot(again)).toEqual(new Uint8Array(0));
      await again.close();
    });

    test('has the newest of several snapshots, in whatever order they were finished', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(1), entries: entryRange(1, 30, 1) });
      const slow = await store.createSnapshot(meta(10, 1));
      const { data } = await snapshotOf(store, 20, 1, 700);
      await slow.finish();
      expect(store.snapshot?.index).toBe(20);
      expect(await readSnapshot(store)).toEqual(data);
      await store.close();
      const again = await fixture.open();
      expect(again.durable.snapshot?.index).toBe(20);
      await again.close();
    });

    test('forgets no more than it was told to, nothing before a snapshot holds it, and finds the rest again', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(1), entries: [] });
      for (let first = 1; first <= 96; first += 5) await store.write({ entries: entryRange(first, first + 4, 1, 700) });
      await expect(store.compact(logIndex(5))).rejects.toThrow('only-what-a-snapshot-holds-is-forgotten');
      await snapshotOf(store, 80, 1, 100);
      await store.compact(logIndex(60));
      const { firstIndex } = store;
      expect(firstIndex).toBeGreaterThan(1);
      expect(firstIndex).toBeLessThanOrEqual(61);
      expect(await store.read(logIndex(firstIndex - 1), logIndex(100), 1_000)).toEqual([]);
      const rest = entryRange(firstIndex, 100, 1, 700);
      expect(await contentOf(store, logIndex(100))).toEqual(rest);
      await store.close();
      const again = await fixture.open();
      expect(again.durable.base).toEqual({ index: firstIndex - 1, term: 1 });
      expect(again.durable.terms).toEqual([{ term: 1, firstIndex }]);
      expect(again.firstIndex).toBe(firstIndex);
      expect(await contentOf(again, logIndex(100))).toEqual(rest);
      await again.write({ truncateFrom: logIndex(91), entries: [entry(91, 1)] });
      expect(await contentOf(again, logIndex(91))).toEqual([...rest.slice(0, 91 - firstIndex), entry(91, 1)]);
      await again.close();
    });

    test('has the rest, and nothing else, though it forgets again and again', async (fixture) => {
      const written: Entry[] = [];
      const restOf = (store: LogStore) => written.slice(store.firstIndex - 1);
      for (let life = 1; life <= 3; life += 1) {
        const store = await fixture.open();
        expect(await contentOf(store)).toEqual(restOf(store));
        for (let round = 1; round <= 4; round += 1) {
          for (let batch = 1; batch <= 4; batch += 1) {
            const entries = entryRange(written.length + 1, written.length + 3, life, 700);
            await store.write({ hardState: vote(life), entries });
            written.push(...entries);
          }
          const upTo = logIndex(written.length - 3);
          await snapshotOf(store, upTo, life, 100);
          const { firstIndex } = store;
          const reading = store.read(firstIndex, upTo, 20_000);
          await store.compact(upTo);
          // It may come too late; what it finds is right.
          const found = await reading;
          expect(found).toEqual(written.slice(firstIndex - 1, firstIndex - 1 + found.length));
          expect(await contentOf(store, logIndex(written.length))).toEqual(restOf(store));
        }
        expect(store.firstIndex).toBeGreaterThan(written.length - 20);
        await store.close();
      }
    });

    test('goes on behind a received snapshot, and has nothing of the log before it', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(2), entries: entryRange(1, 12, 2, 700) });
      const { data } = await snapshotOf(store, 100, 3, 900, 'received');
      const position = { index: logIndex(100), term: term(3) };
      await store.write({ hardState: vote(4), snapshot: position, entries: entryRange(101, 103, 4) });
      expect(store.firstIndex).toBe(101);
      expect(await store.read(logIndex(5), logIndex(12), 1_000)).toEqual([]);
      expect(await contentOf(store, logIndex(103))).toEqual(entryRange(101, 103, 4));
      await store.write({ truncateFrom: logIndex(102), entries: entryRange(102, 110, 4, 700) });
      await store.close();
      const again = await fixture.open();
      expect(again.durable).toMatchObject({ base: position, lastIndex: 110, hardState: vote(4) });
      expect(again.durable.snapshot).toMatchObject(position);
      expect(await readSnapshot(again)).toEqual(data);
      expect(await contentOf(again)).toEqual([entry(101, 4), ...entryRange(102, 110, 4, 700)]);
      await again.close();
    });

    test('begins behind a received snapshot whose log was not replaced before the end', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(2, 3), entries: entryRange(1, 12, 2) });
      const { data } = await snapshotOf(store, 12, 3, 900, 'received');
      await store.close();
      const again = await fixture.open();
      const position = { index: logIndex(12), term: term(3) };
      expect(again.durable).toMatchObject({ base: position, lastIndex: 12, terms: [], snapshot: position });
      // A vote of a term that the log is behind of binds nobody.
      expect(again.durable.hardState).toEqual({ term: 3, votedFor: 0 });
      await again.write({ entries: [entry(13, 3)] });
      await again.close();
      const last = await fixture.open();
      expect(await contentOf(last)).toEqual([entry(13, 3)]);
      expect(await readSnapshot(last)).toEqual(data);
      await last.close();
    });

    test('keeps its log when a received snapshot ends within it', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(2), entries: entryRange(1, 12, 2) });
      await snapshotOf(store, 8, 2, 50, 'received');
      await store.close();
      const again = await fixture.open();
      expect(again.durable).toMatchObject({ base: { index: 0 }, lastIndex: 12, snapshot: { index: 8, term: 2 } });
      expect(await contentOf(again)).toEqual(entryRange(1, 12, 2));
      await again.close();
    });

    test('refuses to replace its log by a snapshot of a term that it has not reached', async (fixture) => {
      const store = await fixture.open();
      await store.write({ hardState: vote(2), entries: entryRange(1, 3, 2) });
      await snapshotOf(store, 9, 5, 50, 'received');
      const position = { index: logIndex(9), term: term(5) };
      await expect(store.write({ snapshot: position, entries: [] })).rejects.toThrow('beyond the hard state');
      await store.close();
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
