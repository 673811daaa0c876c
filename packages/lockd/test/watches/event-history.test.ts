import { StateMachine, type NodeSlot } from '@holdfast/state';
import { describe, expect, it } from 'vitest';
import { MIN_HISTORY_CHUNK_BYTES } from '../../src/limits.ts';
import { EventHistory, type HistoryRecord } from '../../src/watches/event-history.ts';
import { PathFilter } from '../../src/watches/paths/path-filter.ts';

const ROOT = 0 as NodeSlot;
/** A tree whose nodes are called by their slots, all of them below the root. */
const tree = {
  root: ROOT,
  parent: () => ROOT,
  copyName: (node: NodeSlot, into: Uint8Array, at: number) =>
    at + Buffer.from(into.buffer, into.byteOffset).write(`ü${node}`, at),
  copyPath: (_: NodeSlot, __: Uint8Array, at: number) => at,
};

function since(history: EventHistory, from: number): HistoryRecord[] {
  const records: HistoryRecord[] = [];
  history.replay(from, (record) => records.push(record) > 0);
  return records;
}

describe('the history of changes', () => {
  it('has every change behind an index, in order', () => {
    const history = new EventHistory(1 << 20);
    history.record('created', 1 as NodeSlot, 5, tree);
    history.record('changed', ROOT, 7, tree);
    history.record('deleted', 1 as NodeSlot, 7, tree);
    history.record('created', 2 as NodeSlot, 9, tree);
    const all = [
      { index: 5, type: 'created', path: '/ü1' },
      { index: 7, type: 'changed', path: '/' },
      { index: 7, type: 'deleted', path: '/ü1' },
      { index: 9, type: 'created', path: '/ü2' },
    ];
    expect(since(history, 0)).toEqual(all);
    expect(since(history, 5)).toEqual(all.slice(1));
    expect(since(history, 6)).toEqual(all.slice(1));
    expect(since(history, 7)).toEqual(all.slice(3));
    expect(since(history, 9)).toEqual([]);
  });

  it('ends a replay that has heard enough', () => {
    const history = new EventHistory(1 << 20);
    for (let index = 1; index <= 10; index += 1) history.record('changed', ROOT, index, tree);
    const heard: number[] = [];
    history.replay(0, ({ index }) => heard.push(index) < 3);
    expect(heard).toEqual([1, 2, 3]);
  });

  it('is the same from any index on, however many changes are before it', () => {
    const history = new EventHistory(1 << 20);
    const last = 2_000;
    for (let index = 1; index <= last; index += 1) {
      for (let n = 0; n < 3; n += 1) history.record('changed', (index % 50) as NodeSlot, index, tree);
    }
    for (let from = 0; from < last; from += 41) {
      const found = since(history, from);
      expect(found).toHaveLength(3 * (last - from));
      expect(found[0]?.index).toBe(from + 1);
    }
  });

  it('tells with a filter everything that is at or below its paths, and hardly anything else', () => {
    const history = new EventHistory(1 << 20);
    for (let index = 1; index <= 1_000; index += 1) history.record('created', index as NodeSlot, index, tree);
    history.record('changed', ROOT, 1_001, tree);
    const told = (paths: readonly string[]): string[] => {
      const found: string[] = [];
      history.replay(0, ({ path }) => found.push(path) > 0, new PathFilter(paths));
      return found;
    };
    expect(told(['/ü7', '/ü500'])).toEqual(expect.arrayContaining(['/ü7', '/ü500']));
    expect(told(['/ü7', '/ü500']).length).toBeLessThan(50);
    expect(told(['/'])).toHaveLength(1_001);
    expect(told([])).toEqual([]);
  });

  it('forgets whole indexes from the oldest on, says from where on it is whole, and takes no more memory', () => {
    const history = new EventHistory(4 * MIN_HISTORY_CHUNK_BYTES);
    for (let index = 1; index <= 50_000; index += 1) {
      // Several changes of each index, which the end of a piece may part.
      for (let n = 0; n < 3; n += 1) history.record('changed', (index % 100) as NodeSlot, index, tree);
      if (index % 1_000 !== 0) continue;
      const { begin } = history;
      const kept = since(history, begin);
      expect(kept.map((record) => record.index)).toEqual(
        Array.from({ length: 3 * (index - begin) }, (_, n) => begin + 1 + Math.floor(n / 3)),
      );
      expect(history.bytes).toBeLessThanOrEqual(4 * MIN_HISTORY_CHUNK_BYTES);
    }
    expect(history.begin).toBeGreaterThan(40_000);
  });

  it('of 0 bytes is whole only while nothing changes', () => {
    const history = new EventHistory(0);
    expect(history.begin).toBe(0);
    history.record('changed', ROOT, 7, tree);
    expect(history.begin).toBe(7);
    expect(since(history, 7)).toEqual([]);
    expect(history.bytes).toBe(0);
  });

  it('begins anew where a snapshot ends', () => {
    const history = new EventHistory(1 << 20);
    history.record('changed', ROOT, 7, tree);
    history.reset(20);
    expect(history.begin).toBe(20);
    history.record('changed', ROOT, 21, tree);
    expect(since(history, 20)).toHaveLength(1);
  });

  it('holds indexes that are far from each other, and beyond 32 bits', () => {
    const history = new EventHistory(1 << 20);
    const indexes = [1, 2 ** 32 - 1, 2 ** 32, 2 ** 33 + 5, 2 ** 50];
    for (const index of indexes) history.record('changed', ROOT, index, tree);
    expect(since(history, 0).map(({ index }) => index)).toEqual(indexes);
  });

  it('tells of each node at a slot by its own path, though another was there before', () => {
    const history = new EventHistory(1 << 20);
    const names = ['a', 'b'];
    const renamed = {
      ...tree,
      copyName: (_: NodeSlot, into: Uint8Array, at: number) =>
        at + Buffer.from(into.buffer, into.byteOffset).write(names[0] ?? '', at),
    };
    const slot = 9 as NodeSlot;
    for (const [round, name] of names.entries()) {
      names[0] = name;
      for (const [step, type] of (['created', 'changed', 'deleted'] as const).entries()) {
        history.record(type, slot, 3 * round + step + 1, renamed);
      }
    }
    const told = since(history, 0).map(({ type, path }) => `${type} ${path}`);
    expect(told).toEqual(
      ['a', 'b'].flatMap((name) => ['created', 'changed', 'deleted'].map((type) => `${type} /${name}`)),
    );
  });

  it('has the paths that the state machine has', () => {
    const { tree: real } = new StateMachine();
    const history = new EventHistory(1 << 20);
    const locks = real.find('/holdfast/locks');
    history.record('created', locks ?? ROOT, 1, real);
    expect(since(history, 0)).toEqual([{ index: 1, type: 'created', path: '/holdfast/locks' }]);
  });
});
