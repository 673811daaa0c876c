import type { Clock } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { ApplyLoop } from '../../src/driver/apply-loop.ts';
import {
  initialConfiguration,
  DEFAULT_RAFT_LIMITS,
  EntryType,
  LOG_START,
  LONG_ENTRY_BYTES,
  logIndex,
  RaftCore,
  serverId,
  term,
  type Entry,
  type LogIndex,
} from '../../src/core/index.ts';
import type { LogStore } from '../../src/log-store/contract/log-store.ts';

const LAST = 10;
const AT_ONCE = 4;
const clock: Clock = {
  monotonicMs: () => 0,
  wallMs: () => 0,
  setTimer: () => ({ cancel: () => undefined }),
  afterPoll: () => undefined,
};

function entryAt(index: number, bytes = 1): Entry {
  return { index: logIndex(index), term: term(1), type: EntryType.command, data: new Uint8Array(bytes) };
}

/** A server that has just started: its whole log is on disk. Reads end when told to. `long`: the entries that take long to apply. */
function started(long: readonly number[] = []) {
  const durable = {
    hardState: { term: term(1), votedFor: serverId(1) },
    base: LOG_START,
    lastIndex: logIndex(LAST),
    terms: [{ term: term(1), firstIndex: logIndex(1) }],
    snapshot: undefined,
    configurations: [],
  };
  const reads: { readonly from: LogIndex; readonly end: (error?: Error) => void }[] = [];
  const store = {
    durable,
    write: () => Promise.reject(new Error('nothing is written')),
    read: (from: LogIndex, to: LogIndex) =>
      new Promise<Entry[]>((resolve, reject) => {
        const count = Math.min(AT_ONCE, to - from + 1);
        const entries = Array.from({ length: count }, (_, at) =>
          entryAt(from + at, long.includes(from + at) ? LONG_ENTRY_BYTES : 1),
        );
        reads.push({ from, end: (error) => (error === undefined ? resolve(entries) : reject(error)) });
      }),
    close: () => Promise.resolve(),
  } as unknown as LogStore;
  const initial = initialConfiguration([{ id: serverId(1), peerAddress: 'host:1' }]);
  const core = new RaftCore({ ...DEFAULT_RAFT_LIMITS, seed: 1, id: serverId(1), initial }, durable, 0);
  const applied: number[] = [];
  const seen = { wakes: 0, failure: undefined as unknown };
  const loop = new ApplyLoop(
    { core, store, clock },
    {
      apply: ({ index }) => applied.push(index),
      wake: () => (seen.wakes += 1),
      failed: (error) => (seen.failure = error),
    },
  );
  return { loop, reads, applied, seen };
}

describe('a server whose log is on disk', () => {
  it('applies it in order, each entry once, and reads on while it applies', async () => {
    const { loop, reads, applied, seen } = started();
    loop.commit(logIndex(LAST));
    loop.run();
    const froms: number[] = [];
    for (let turn = 1; turn <= 3; turn += 1) {
      expect(loop.hasWork).toBe(false);
      const read = reads.at(-1);
      froms.push(read?.from ?? 0);
      read?.end();
      await expect.poll(() => seen.wakes).toBe(turn);
      expect(loop.hasWork).toBe(true);
      loop.run();
      expect(loop.applied).toBe(Math.min(turn * AT_ONCE, LAST));
    }
    expect(froms).toEqual([1, 5, 9]);
    expect(reads).toHaveLength(3);
    expect(applied).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(loop.hasWork).toBe(false);
  });

  it('begins a turn with each that takes long, so that others hear first what the turn before has for them', async () => {
    const { loop, reads, applied, seen } = started([2, 3]);
    loop.commit(logIndex(LAST));
    loop.run();
    reads[0]?.end();
    await expect.poll(() => seen.wakes).toBe(1);
    const turns: number[][] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      expect(loop.hasWork).toBe(true);
      loop.run();
      turns.push([...applied]);
    }
    expect(turns).toEqual([[1], [1, 2], [1, 2, 3, 4]]);
    for (let at = 1; applied.length < LAST; at += 1) {
      await expect.poll(() => reads.length > at || loop.hasWork).toBe(true);
      reads[at]?.end();
      await expect.poll(() => seen.wakes).toBe(at + 1);
      loop.run();
    }
    expect(applied).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('goes no further than what is committed, and on when more is', async () => {
    const { loop, reads, applied, seen } = started();
    loop.commit(logIndex(2));
    loop.run();
    reads[0]?.end();
    await expect.poll(() => seen.wakes).toBe(1);
    loop.run();
    expect([applied, reads.length]).toEqual([[1, 2], 1]);
    loop.commit(logIndex(3));
    loop.run();
    reads[1]?.end();
    await expect.poll(() => seen.wakes).toBe(2);
    loop.run();
    expect(applied).toEqual([1, 2, 3]);
  });

  it('fails when the disk does', async () => {
    const { loop, reads, applied, seen } = started();
    loop.commit(logIndex(LAST));
    loop.run();
    const error = new Error('a sector is gone');
    reads[0]?.end(error);
    await expect.poll(() => seen.failure).toBe(error);
    expect(applied).toEqual([]);
    expect(loop.hasWork).toBe(false);
  });
});
