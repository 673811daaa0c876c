import { randomStream } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';

import { StateTable } from '../../src/explore/world/state-table.ts';

describe('the table of worlds', () => {
  it('takes each world once, and gives back whence it came', () => {
    const table = new StateTable();
    expect(table.add([1, 2, 3], -1, -1)).toBe(true);
    expect(table.add([1, 2], 0, 4)).toBe(true);
    expect(table.add([1, 2, 3], 1, 0)).toBe(false);
    expect(table.add([], 1, 7)).toBe(true);
    expect(table.size).toBe(3);
    expect([...table.world(0)]).toEqual([1, 2, 3]);
    expect([...table.world(2)]).toEqual([]);
    expect([table.parent(0), table.parent(1), table.parent(2)]).toEqual([-1, 0, 1]);
    expect([table.ordinal(1), table.ordinal(2)]).toEqual([4, 7]);
  });

  it('knows as many worlds as a set does, also when it has grown several times', () => {
    const random = randomStream(1, 'worlds');
    const table = new StateTable();
    const known = new Set<string>();
    const order: string[] = [];
    for (let count = 0; count < 80_000; count += 1) {
      const world = Array.from({ length: 1 + random.integer(9) }, () => random.integer(8));
      const text = world.join();
      expect(table.add(world, 0, 0)).toBe(!known.has(text));
      if (!known.has(text)) order.push(text);
      known.add(text);
    }
    expect(table.size).toBe(known.size);
    expect(order.every((text, at) => table.world(at).join() === text)).toBe(true);
  });
});
