import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOG_START, NO_SERVER, logIndex, serverId, term, type Effect, type WriteSeq } from '../../src/core/index.ts';
import { DurableWriter } from '../../src/driver/durable-writer.ts';
import type { LogStore, WriteBatch } from '../../src/log-store/contract/log-store.ts';
import { entry } from '../core/support/scripted-core.ts';

type Persist = Extract<Effect, { type: 'persist' }>;

interface State {
  hardState: unknown;
  readonly log: string[];
}

const fresh = (): State => ({ hardState: undefined, log: [] });

/** As a log store would, and as strict: no gap, and no cut beyond the end by more than nothing. */
function write(state: State, { hardState, truncateFrom, entries }: WriteBatch | Persist): void {
  if (hardState !== undefined) state.hardState = hardState;
  if (truncateFrom !== undefined) state.log.length = Math.min(state.log.length, truncateFrom - 1);
  for (const { index, term: of } of entries) {
    expect(index).toBe(state.log.length + 1);
    state.log.push(`${index}@${of}`);
  }
}

/** A store whose writes end when told to. */
class ManualStore implements LogStore {
  readonly durable = {
    hardState: { term: term(0), votedFor: NO_SERVER },
    base: LOG_START,
    lastIndex: logIndex(0),
    terms: [],
    snapshot: undefined,
    configurations: [],
  };
  readonly state = fresh();
  readonly batches: WriteBatch[] = [];
  writes = 0;
  end: ((error?: Error) => void) | undefined;

  write(batch: WriteBatch): Promise<void> {
    if (this.end !== undefined) return Promise.reject(new Error('two writes are under way'));
    this.writes += 1;
    this.batches.push(batch);
    return new Promise((resolve, reject) => {
      this.end = (error) => {
        this.end = undefined;
        if (error !== undefined) {
          reject(error);
          return;
        }
        write(this.state, batch);
        resolve();
      };
    });
  }

  async read(): Promise<never[]> {
    return [];
  }

  readonly firstIndex = logIndex(1);
  readonly snapshot = undefined;

  createSnapshot(): Promise<never> {
    throw new Error('a writer takes no snapshots');
  }

  async openSnapshot(): Promise<undefined> {}

  async compact(): Promise<void> {}

  allowSpare(): void {}

  async liftVoteBan(): Promise<void> {}

  async close(): Promise<void> {}
}

/** Streams of writes as a core makes them: each follows from the log that the ones before leave. */
const streams = fc
  .array(fc.record({ cut: fc.option(fc.nat(5)), add: fc.nat(4), vote: fc.boolean(), endWrite: fc.boolean() }), {
    maxLength: 40,
  })
  .map((draws) => {
    let length = 0;
    return draws.map(({ cut, add, vote, endWrite }, position) => {
      const truncateFrom = cut === null || length === 0 ? undefined : logIndex(Math.max(1, length - cut));
      if (truncateFrom !== undefined) length = truncateFrom - 1;
      const entries = Array.from({ length: add }, (_, at) => entry(length + 1 + at, position + 1));
      length += add;
      const hardState = vote ? { term: term(position + 1), votedFor: serverId(1) } : undefined;
      const effect: Persist = {
        type: 'persist',
        seq: (position + 1) as WriteSeq,
        hardState,
        snapshot: undefined,
        truncateFrom,
        entries,
      };
      return { effect, endWrite };
    });
  });

const settled = async () => {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
};

describe('group commit', () => {
  it('leaves the disk as if each write had been made alone, and tells what is durable', async () => {
    await fc.assert(
      fc.asyncProperty(streams, async (stream) => {
        const store = new ManualStore();
        const expected = fresh();
        let durable = 0;
        // Looked at here and not in what the writer calls: an error of that would be nobody's.
        const told: number[] = [];
        const errors: unknown[] = [];
        const writer = new DurableWriter(
          store,
          (seq) => told.push(seq),
          (error) => errors.push(error),
        );
        const endWrite = async () => {
          store.end?.();
          await settled();
          for (const seq of told.splice(0)) {
            for (; durable < seq; durable += 1) write(expected, stream[durable]?.effect ?? { entries: [] });
            expect(store.state).toEqual(expected);
          }
          expect(errors).toEqual([]);
        };
        for (const { effect, endWrite: ends } of stream) {
          writer.persist(effect);
          writer.begin();
          if (ends) await endWrite();
        }
        while (store.end !== undefined) await endWrite();
        expect(durable).toBe(stream.length);
      }),
      { numRuns: 300 },
    );
  });

  it('has one write under way and makes everything that comes meanwhile the next one [out-of-order-write-completions]', async () => {
    const store = new ManualStore();
    const told: number[] = [];
    const writer = new DurableWriter(
      store,
      (seq) => told.push(seq),
      () => undefined,
    );
    for (let seq = 1; seq <= 100; seq += 1) {
      writer.persist(persist(seq));
      writer.begin();
    }
    store.end?.();
    await settled();
    store.end?.();
    await settled();
    expect(store.writes).toBe(2);
    expect(writer.writes).toBe(2);
    expect(told).toEqual([1, 100]);
  });

  it('begins when it is told to, and writes all that was to be written by then', async () => {
    const store = new ManualStore();
    const told: number[] = [];
    const writer = new DurableWriter(
      store,
      (seq) => told.push(seq),
      () => undefined,
    );
    for (let seq = 1; seq <= 3; seq += 1) writer.persist(persist(seq));
    expect(store.writes).toBe(0);
    writer.begin();
    writer.begin();
    expect(store.writes).toBe(1);
    store.end?.();
    await settled();
    expect(told).toEqual([3]);
  });

  it('leaves out what a snapshot makes void: cuts and entries that were gathered before it', async () => {
    const store = new ManualStore();
    const writer = new DurableWriter(
      store,
      () => undefined,
      () => undefined,
    );
    const snapshot = { index: logIndex(7), term: term(2) };
    writer.persist({ ...persist(4), truncateFrom: logIndex(4) });
    writer.persist({ ...persist(5), snapshot, entries: [] });
    writer.persist({ ...persist(6), entries: [entry(8, 2)] });
    writer.begin();
    expect(store.batches).toEqual([{ snapshot, entries: [entry(8, 2)] }]);
  });

  it('does not change the effects that it was given', async () => {
    const store = new ManualStore();
    const writer = new DurableWriter(
      store,
      () => undefined,
      () => undefined,
    );
    const effects = [1, 2, 3].map(persist);
    for (const effect of effects) {
      writer.persist(effect);
      writer.begin();
    }
    expect(effects.map(({ entries }) => entries.length)).toEqual([1, 1, 1]);
  });
});

function persist(seq: number): Persist {
  return {
    type: 'persist',
    seq: seq as WriteSeq,
    hardState: undefined,
    snapshot: undefined,
    truncateFrom: undefined,
    entries: [entry(seq, 1)],
  };
}

describe('a failed write', () => {
  it('is told once, and nothing is written or told durable after it', async () => {
    const store = new ManualStore();
    const errors: unknown[] = [];
    const told: number[] = [];
    const writer = new DurableWriter(
      store,
      (seq) => told.push(seq),
      (error) => errors.push(error),
    );
    writer.persist(persist(1));
    writer.begin();
    writer.persist(persist(2));
    writer.begin();
    const failure = new Error('the disk is gone');
    store.end?.(failure);
    await settled();
    writer.persist(persist(3));
    writer.begin();
    await settled();
    expect(errors).toEqual([failure]);
    expect(told).toEqual([]);
    expect(store.writes).toBe(1);
    await writer.stop();
  });
});
