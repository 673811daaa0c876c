import type { NodeSlot } from '@holdfast/state';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SessionClient } from '../../src/port/session-client.ts';
import { CHILDREN, DATA, KINDS, PERSISTENT, RECURSIVE } from '../../src/watches/watch-kinds.ts';
import { NONE } from '../../src/watches/watch-rows.ts';
import { WatchTable, weightOf } from '../../src/watches/watch-table.ts';
import { Watcher } from '../../src/watches/watcher.ts';

const NOBODY = {} as SessionClient;
const PATHS = ['/a', '/a/b', '/c', `/${'x'.repeat(300)}`];
const WATCHERS = 3;

function table(): { readonly table: WatchTable; readonly watchers: Watcher[] } {
  const watchers = Array.from({ length: WATCHERS }, (_, number) => new Watcher(NOBODY, number));
  return { table: new WatchTable(watchers), watchers };
}

/** What a table should hold, as a plain map. */
class Model {
  readonly kinds = new Map<string, number>();
  readonly nodes = new Map<string, NodeSlot>();

  at(watcher: number, path: string): number {
    return this.kinds.get(`${watcher} ${path}`) ?? 0;
  }

  put(watcher: number, path: string, kinds: number): void {
    if (kinds === 0) this.kinds.delete(`${watcher} ${path}`);
    else this.kinds.set(`${watcher} ${path}`, kinds);
  }
}

const step = fc.record({
  what: fc.constantFrom('add', 'add', 'drop', 'node', 'rekey'),
  watcher: fc.nat(WATCHERS - 1),
  path: fc.constantFrom(...PATHS),
  kinds: fc.constantFrom(DATA, CHILDREN, PERSISTENT, RECURSIVE, KINDS, DATA | RECURSIVE),
});

describe('the table of watches', () => {
  it('has what was added and not dropped, as nodes come and go and other trees take their place', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { table: real, watchers } = table();
        const model = new Model();
        let slots = 1;
        for (const { what, watcher, path, kinds } of steps) {
          const node = model.nodes.get(path);
          const owner = watchers[watcher] as Watcher;
          if (what === 'add') {
            const fresh = kinds & ~model.at(watcher, path);
            if (fresh === 0) continue;
            real.add(owner, node, path, fresh);
            model.put(watcher, path, model.at(watcher, path) | fresh);
          } else if (what === 'drop') {
            const there = kinds & model.at(watcher, path);
            if (there === 0) continue;
            real.drop(real.find(owner, node, path), there);
            model.put(watcher, path, model.at(watcher, path) & ~there);
          } else if (what === 'rekey') {
            const before = new Map([...model.nodes].map(([each, slot]) => [slot, each]));
            for (const each of model.nodes.keys()) model.nodes.set(each, (slots += 1) as NodeSlot);
            const pathOf = (slot: NodeSlot): string => before.get(slot) ?? '';
            real.rekey({ path: pathOf }, { find: (each: string) => model.nodes.get(each) });
          } else if (node === undefined) {
            model.nodes.set(path, (slots += 1) as NodeSlot);
            real.appeared(slots as NodeSlot, path);
          } else {
            model.nodes.delete(path);
            real.vanished(node, path);
          }
          check(real, watchers, model);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('counts a watch on a long path several times', () => {
    expect([1, 128, 129, 1_024].map((length) => weightOf('x'.repeat(length)))).toEqual([1, 1, 2, 8]);
  });

  it('takes 24 bytes for each node of each watcher, and gives them back', () => {
    const { table: real, watchers } = table();
    const [watcher] = watchers as [Watcher];
    for (let slot = 1; slot <= 40_000; slot += 1) real.add(watcher, slot as NodeSlot, '/x', DATA);
    expect(real.rowBytes).toBeLessThan(24 * 45_000);
    for (let row = watcher.firstRow; row !== NONE; row = watcher.firstRow) real.drop(row, DATA);
    expect([real.rowBytes, real.rows, real.weight, watcher.weight]).toEqual([0, 0, 0, 0]);
  });
});

function check(real: WatchTable, watchers: readonly Watcher[], model: Model): void {
  const found = new Map<string, number>();
  for (const path of PATHS) {
    const node = model.nodes.get(path);
    let rows = 0;
    const first = node === undefined ? real.firstMissing(path) : real.firstAt(node);
    for (let row = first; row !== NONE; row = real.nextAt(row)) {
      const { number } = real.watcher(row);
      expect(real.find(watchers[number] as Watcher, node, path)).toBe(row);
      expect(real.node(row)).toBe(node);
      found.set(`${number} ${path}`, real.kinds(row));
      rows += 1;
    }
    expect(rows).toBeLessThanOrEqual(WATCHERS);
  }
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(model.kinds));
  const weight = [...model.kinds].reduce((sum, [key, kinds]) => {
    const path = key.slice(key.indexOf(' ') + 1);
    return sum + weightOf(path) * [DATA, CHILDREN, PERSISTENT, RECURSIVE].filter((bit) => (kinds & bit) !== 0).length;
  }, 0);
  expect(real.weight).toBe(weight);
  expect(watchers.reduce((sum, watcher) => sum + watcher.weight, 0)).toBe(weight);
  expect(watchers.reduce((sum, watcher) => sum + watcher.rows, 0)).toBe(real.rows);
}
