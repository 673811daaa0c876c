import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';

import { StateDigest } from '../../../src/state-digest.ts';
import { Capture } from '../../../src/snapshot/capture.ts';
import { ByteSlab } from '../../../src/tree/storage/byte-slab.ts';
import { NodeCells } from '../../../src/tree/storage/node-cells.ts';
import { NodeRows } from '../../../src/tree/storage/node-rows.ts';
import type { NodeSlot } from '../../../src/tree/node-store.ts';
import { RowNodeStore } from '../../../src/tree/row-node-store.ts';
import { arrayBytesInUse } from '../../support/in-use.ts';
import { bytes } from '../../support/solo.ts';

const MIB = 1024 * 1024;

describe('the cells of nodes', () => {
  it('keep every name and all data while they move', () => {
    const length = fc.oneof(fc.nat({ max: 40 }), fc.nat({ max: 1_000 }), fc.constantFrom(0, 1_024, 1_100));
    const which = fc.nat();
    const change = fc.oneof(
      { weight: 6, arbitrary: fc.record({ type: fc.constant('create' as const), length }) },
      { weight: 6, arbitrary: fc.record({ type: fc.constant('set' as const), length, which }) },
      { weight: 1, arbitrary: fc.record({ type: fc.constant('setAll' as const), length }) },
      { weight: 2, arbitrary: fc.record({ type: fc.constant('free' as const), which }) },
    );
    let moves = 0;
    fc.assert(
      fc.property(fc.array(change, { minLength: 200, maxLength: 400, size: 'max' }), (changes) => {
        const rows = new NodeRows();
        const slab = new ByteSlab(0);
        const dropped = vi.spyOn(slab, 'dropOld');
        const cells = new NodeCells(rows, slab);
        const kept = new Map<number, { readonly name: string; readonly data: Uint8Array }>();
        for (const [at, it] of changes.entries()) {
          const data = 'length' in it ? new Uint8Array(it.length).fill(at) : new Uint8Array(0);
          if (it.type === 'create') {
            const name = at % 3 === 0 ? `€${at}` : `n${at}`;
            const row = rows.add();
            cells.create(row, name, data);
            kept.set(row, { name, data });
            continue;
          }
          const all = [...kept];
          const chosen = it.type === 'setAll' ? all : all.slice(it.which % (all.length + 1)).slice(0, 1);
          for (const [row, { name }] of chosen) {
            if (it.type === 'free') {
              cells.free(row);
              kept.delete(row);
            } else {
              cells.setData(row, data);
              kept.set(row, { name, data });
            }
          }
        }
        for (const [row, { name, data }] of kept) {
          expect(cells.name(row)).toBe(name);
          expect(Buffer.compare(cells.data(row), data)).toBe(0);
        }
        moves += dropped.mock.calls.length;
      }),
      { numRuns: 60 },
    );
    expect(moves).toBeGreaterThan(60);
  });

  it.each([
    ['one byte a unit', 'x'],
    ['two bytes a unit', '€'],
  ])('keep what is in them when the cell before is filled to its end (%s)', (_, unit) => {
    const rows = new NodeRows();
    const cells = new NodeCells(rows);
    // Of cells of 16 bytes each, as they are taken from a new slab: one behind the other.
    const name = unit.repeat(unit === 'x' ? 16 : 8);
    const [first, second] = [rows.add(), rows.add()];
    cells.create(first, name, new Uint8Array(0));
    cells.create(second, name, new Uint8Array(0));
    cells.free(first);
    cells.create(first, name, new Uint8Array(0));
    expect([cells.name(first), cells.name(second)]).toEqual([name, name]);
  });
});

describe('nodes whose data grows and shrinks together', () => {
  const NODES = 4_000;
  const LARGEST = 992;

  it('never keep much more than there is, however many sizes they have had', { timeout: 60_000 }, () => {
    const before = arrayBytesInUse();
    const store = new RowNodeStore(new StateDigest(), new Capture(), { low: 1, high: 2 });
    let index = 0;
    const nodes = Array.from({ length: NODES }, (_, n): NodeSlot => {
      index += 1;
      const name = `n${n}`;
      return store.create({ parent: store.root, name, data: bytes(''), ephemeralOwner: 0, index, stamp: 1 });
    });
    const rows = arrayBytesInUse() - before;
    const sizes = Array.from({ length: LARGEST / 16 }, (_, n) => 16 * (n + 1));
    let most = 0;
    for (const size of [...sizes, ...sizes.toReversed()]) {
      const data = new Uint8Array(size);
      for (const node of nodes) {
        index += 1;
        store.setData(node, data, index, 1);
      }
      if (size % 128 === 0) most = Math.max(most, arrayBytesInUse() - before - rows);
    }
    // Their cells, half as much that is idle, and as much again while they move. Lists of free cells by size would keep 30 times as much.
    const cells = NODES * (LARGEST + 16);
    expect(most).toBeLessThan(2.5 * cells + 20 * MIB);
    expect(arrayBytesInUse() - before - rows).toBeLessThan(1.5 * cells + 20 * MIB);
    expect(store.dataBytes).toBe(NODES * 16);
  });

  it('are moved a few at a time', () => {
    const rows = new NodeRows();
    const slab = new ByteSlab(0);
    const cells = new NodeCells(rows, slab);
    const create = (length: number): number => {
      const row = rows.add();
      cells.create(row, 'n', new Uint8Array(length));
      return row;
    };
    const small = Array.from({ length: 20_000 }, () => create(1));
    for (const row of small.slice(0, 15_000)) cells.free(row);
    let changes = 0;
    while (!slab.moving) create(500);
    const old = slab.chunkBytes;
    while (slab.moving) {
      create(500);
      changes += 1;
    }
    // Of 20,000 rows 32 with each of them.
    expect(changes).toBeGreaterThan(500);
    expect(changes).toBeLessThan(800);
    expect(slab.chunkBytes).toBeLessThan(old + changes * 528);
  });
});
