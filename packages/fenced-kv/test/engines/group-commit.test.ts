import { describe, expect, it } from 'vitest';

import { EngineError } from '../../src/engines/engine-error.ts';
import { GroupCommit, type Write } from '../../src/engines/group-commit.ts';
import { SortedMap } from '../../src/engines/sorted-map.ts';
import { MAX_WAITING_COMMITS } from '../../src/limits.ts';
import { memoryEngine } from '../support/memory-engine.ts';

const key = Uint8Array.of(7);

/** Nothing becomes durable before `release`. */
function gated(): {
  readonly commits: GroupCommit;
  readonly release: () => void;
  readonly persisted: (readonly Write[])[];
} {
  let release = (): void => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const map = new SortedMap();
  const persisted: (readonly Write[])[] = [];
  const commits = new GroupCommit({
    get: (each) => map.get(each),
    persist: async (writes) => {
      await gate;
      for (const write of writes) map.apply(write);
      persisted.push(writes);
    },
    onFailure() {},
  });
  return { commits, release, persisted };
}

describe('commits that arrive together', () => {
  it('become durable together', async () => {
    const engine = memoryEngine();
    await Promise.all(
      Array.from({ length: 200 }, async () => await engine.commit((transaction) => transaction.put(key, key))),
    );
    expect(engine.groups).toBe(1);
  });

  it('are refused beyond a bound rather than kept without one', async () => {
    const { commits, release } = gated();
    const first = commits.commit((transaction) => transaction.put(key, key));
    await Promise.resolve();
    const waiting = Array.from({ length: MAX_WAITING_COMMITS }, async () => await commits.commit(() => {}));
    await expect(commits.commit(() => {})).rejects.toMatchObject({ code: 'OVERLOADED', indeterminate: false });
    release();
    await Promise.all([first, ...waiting]);
  });

  it('are judged while those before them become durable, on top of them, and are answered after them', async () => {
    const { commits, release, persisted } = gated();
    const order: string[] = [];
    const first = commits.commit((transaction) => transaction.put(key, Uint8Array.of(1)));
    await Promise.resolve();
    let seen: number | undefined;
    const second = commits.commit((transaction) => {
      seen = transaction.get(key)?.[0];
      transaction.put(key, Uint8Array.of(2));
    });
    const refused = commits.commit((transaction) => {
      throw new Error(`refused at ${transaction.get(key)?.[0]}`);
    });
    expect(seen).toBe(1);
    expect(commits.figures).toMatchObject({ commits: 0, waiting: 2 });
    release();
    await Promise.all([
      first.then(() => order.push('first')),
      second.then(() => order.push('second')),
      expect(refused.finally(() => order.push('refused'))).rejects.toThrow('refused at 2'),
    ]);
    expect(order).toEqual(['first', 'second', 'refused']);
    expect(persisted.map((writes) => writes.map(({ value }) => value?.[0]))).toEqual([[1], [2]]);
  });

  it('are several groups where their bytes are bounded, one after the other', async () => {
    const persisted: (readonly Write[])[] = [];
    const commits = new GroupCommit(
      {
        get: () => undefined,
        persist: async (writes) => {
          await Promise.resolve();
          persisted.push(writes);
        },
        onFailure() {},
      },
      { maxGroupBytes: 4 },
    );
    await Promise.all(
      [1, 2, 3, 4, 5].map(async (n) => await commits.commit((transaction) => transaction.put(Uint8Array.of(n), key))),
    );
    expect(persisted.map((writes) => writes.map((write) => write.key[0]))).toEqual([[1, 2], [3, 4], [5]]);
    expect(commits.figures).toEqual({ commits: 5, groups: 3, waiting: 0 });
  });
});

describe('a commit whose group cannot be made durable', () => {
  it('is indeterminate, while one that still waited is known not to have happened', async () => {
    const failures: EngineError[] = [];
    let second: Promise<unknown> | undefined;
    const commits: GroupCommit = new GroupCommit({
      get: () => undefined,
      persist: async () => {
        second = expect(commits.commit(() => {})).rejects.toMatchObject({ code: 'DISK_ERROR', indeterminate: false });
        throw new Error('EIO');
      },
      onFailure: (error) => failures.push(error),
    });
    await expect(commits.commit(() => {})).rejects.toMatchObject({ code: 'DISK_ERROR', indeterminate: true });
    await second;
    expect(failures).toHaveLength(1);
  });
});

describe('commits that are ended from outside', () => {
  it('fail with that where they have not begun, and come to their own end where they have', async () => {
    const { commits, release } = gated();
    const first = commits.commit((transaction) => transaction.put(key, key));
    await Promise.resolve();
    const second = expect(commits.commit(() => {})).rejects.toMatchObject({ code: 'CLOSED', message: 'over' });
    commits.end(new EngineError('CLOSED', 'over'));
    await second;
    expect(() => commits.assertUsable()).toThrow('over');
    release();
    await first;
    await commits.close();
  });
});
