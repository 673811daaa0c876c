import { describe, expect, it } from 'vitest';

import { boundsOf, type Bounds } from '../../src/explore/bounds.ts';
import { openCore } from '../../src/explore/server/opened-core.ts';
import { search } from '../../src/explore/search.ts';
import { Worlds, type World } from '../../src/explore/world/worlds.ts';

const core = await openCore();

const SMALL: Bounds = { ...boundsOf('commands'), messages: 1, most: { stands: 2, proposals: 1 } };

function worldsOf(worlds: Worlds): ReadonlySet<string> {
  const known = new Set<string>([worlds.first().join()]);
  const open: World[] = [worlds.first()];
  for (let world = open.pop(); world !== undefined; world = open.pop()) {
    worlds.successors(world, (next) => {
      const text = next.join();
      if (known.has(text)) return;
      known.add(text);
      open.push([...next]);
    });
  }
  return known;
}

describe('worlds that differ only in who is who', () => {
  it.each([
    ['three servers', SMALL],
    ['two servers that change their members', { ...boundsOf('removals-of-two'), messages: 2 }],
    ['two servers and one that is added', { ...boundsOf('additions'), messages: 1 }],
  ])('are one, and none is left out by that: %s', (_, bounds) => {
    const each = worldsOf(new Worlds(core, bounds, false)).size;
    const symmetric = new Worlds(core, bounds, true);
    let inAllOrders = 0;
    for (const text of worldsOf(symmetric)) {
      const world = text.split(',').map(Number);
      const orbit = symmetric.permutations.map((_order, number) => sorted(symmetric, symmetric.renamed(world, number)));
      inAllOrders += new Set(orbit).size;
    }
    expect(inAllOrders).toBe(each);
    expect(worldsOf(symmetric).size).toBeLessThan(each);
  });

  it('are found as often by the search', () => {
    const worlds = new Worlds(core, SMALL);
    const { complete, states } = search(worlds, { states: Infinity });
    expect(complete).toBe(true);
    expect(states).toBe(worldsOf(worlds).size);
  });

  it('are distinguished when servers that begin alike do not act alike', () => {
    const departures: Bounds = { ...SMALL, asymmetric: true, messages: 2, most: { stands: 1, departures: 1 } };
    expect(() => search(new Worlds(core, departures, true), { states: Infinity })).toThrow(
      'servers that begin alike do not act alike',
    );
    expect(search(new Worlds(core, departures), { states: Infinity }).complete).toBe(true);
  });
});

describe('messages under way', () => {
  it('are never more than the bounds say, and as many as there is room for', () => {
    const worlds = new Worlds(core, { ...SMALL, messages: 2 });
    const sizes = new Set<number>();
    for (const text of worldsOf(worlds)) sizes.add(text.split(',').length - worlds.servers - 2);
    expect(sizes).toEqual(new Set([0, 1, 2]));
  });
});

describe('a search', () => {
  it('ends where it is asked to, and says that it is not complete', () => {
    const { complete, states } = search(new Worlds(core, SMALL), { states: 100 });
    expect(complete).toBe(false);
    expect(states).toBeGreaterThanOrEqual(100);
    expect(states).toBeLessThan(120);
  });
});

/** The messages of a world are a set. */
function sorted({ servers }: Worlds, world: readonly number[]): string {
  const messages = world.slice(servers + 2).toSorted((a, b) => a - b);
  return [...world.slice(0, servers + 2), ...messages].join();
}
