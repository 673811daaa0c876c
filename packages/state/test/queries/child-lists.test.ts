import { describe, expect, it } from 'vitest';

import { ChildLists } from '../../src/queries/child-lists.ts';
import type { NodeSlot } from '../../src/tree/node-store.ts';

const CHILDREN = 5_000;
const NAMES = Array.from({ length: CHILDREN }, (_, at) => `child-${at}`);

/** Nodes with many children each; counts how often they are walked. */
function scene() {
  const stats = new Map<number, { czxid: number; cversion: number }>();
  let walks = 0;
  const lists = new ChildLists({
    childCount: () => CHILDREN,
    childNames: () => {
      walks += 1;
      return NAMES;
    },
    stat: (node: NodeSlot) => stats.get(node),
  } as unknown as ConstructorParameters<typeof ChildLists>[0]);
  const of = (node: number, czxid = 1, cversion = CHILDREN): unknown => {
    stats.set(node, { czxid, cversion });
    return lists.of(node as NodeSlot);
  };
  return { of, walks: () => walks };
}

describe('lists of many children', () => {
  it('are made once for all pages of one', () => {
    const { of, walks } = scene();
    const first = of(1);
    expect(of(1)).toBe(first);
    expect(of(1)).toBe(first);
    expect(walks()).toBe(1);
  });

  it('are made anew when a child has come or gone, and for another node in the same slot', () => {
    const { of, walks } = scene();
    const first = of(1, 1, 10);
    const later = of(1, 1, 11);
    expect(later).not.toBe(first);
    const other = of(1, 2, 11);
    expect(other).not.toBe(later);
    expect(of(1, 2, 11)).toBe(other);
    expect(walks()).toBe(3);
  });

  it('are kept for a few nodes, those that were made last', () => {
    const { of, walks } = scene();
    for (let node = 1; node <= 5; node += 1) of(node);
    for (let node = 5; node >= 2; node -= 1) of(node);
    expect(walks()).toBe(5);
    of(1);
    expect(walks()).toBe(6);
  });
});
