import { assert, constantFrom, array, integer, property, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';

import { SmallMap } from '../../src/session/small-map.ts';

describe('a small map', () => {
  it('does what a Map does, in its order, whatever is set, deleted and cleared', () => {
    const step = tuple(constantFrom('set', 'set', 'delete', 'clear'), integer({ min: 0, max: 4 }));
    assert(
      property(array(step, { maxLength: 40 }), (steps) => {
        const map = new Map<number, { readonly at: number }>();
        const small = new SmallMap<number, { readonly at: number }>();
        for (const [at, [what, key]] of steps.entries()) {
          if (what === 'set') {
            map.set(key, { at });
            small.set(key, { at });
          } else if (what === 'delete') {
            map.delete(key);
            small.delete(key);
          } else {
            map.clear();
            small.clear();
          }
          expect([...small.values()]).toEqual([...map.values()]);
          expect(small.size).toBe(map.size);
          expect([small.get(key), small.has(key)]).toEqual([map.get(key), map.has(key)]);
        }
      }),
    );
  });

  it('goes on over what is set while it is gone through, and leaves out what is deleted', () => {
    const small = new SmallMap<number, { readonly at: number }>();
    for (let at = 0; at < 3; at += 1) small.set(at, { at });
    const seen: number[] = [];
    for (const { at } of small.values()) {
      seen.push(at);
      if (at === 0) {
        small.delete(0);
        small.delete(1);
        small.set(7, { at: 7 });
      }
    }
    expect(seen).toEqual([0, 2, 7]);
  });
});
