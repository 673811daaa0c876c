import { describe, expect, it } from 'vitest';

import { copyOf, textOf } from '../../src/explore/world/structure.ts';

class Counter {
  count = 0;
  readonly seen = new Map<number, number[]>();
}

class Secretive {
  #count = 0;

  get count(): number {
    return this.#count;
  }
}

const NO_CONSTANTS = new Set<unknown>();

describe('a copy of a state', () => {
  it('has the parts and the classes of the original, and shares none that can change', () => {
    const original = { counter: new Counter(), list: [1, [2]], set: new Set([3]) };
    original.counter.seen.set(1, [1]);
    const copy = copyOf(original, NO_CONSTANTS);
    expect(copy).toEqual(original);
    expect(copy.counter).toBeInstanceOf(Counter);
    copy.counter.seen.get(1)?.push(2);
    copy.set.add(4);
    (copy.list[1] as number[]).push(5);
    expect(original).toEqual({ counter: { count: 0, seen: new Map([[1, [1]]]) }, list: [1, [2]], set: new Set([3]) });
  });

  it('keeps one object that is reached twice one object', () => {
    const shared = { value: 1 };
    const copy = copyOf({ one: shared, other: [shared] }, NO_CONSTANTS);
    expect(copy.other[0]).toBe(copy.one);
    expect(copy.one).not.toBe(shared);
  });

  it('shares what is frozen, bytes and constants', () => {
    const constant = (): number => 0;
    const original = { frozen: Object.freeze({}), bytes: Uint8Array.of(1), constant };
    const copy = copyOf(original, new Set([constant]));
    expect(copy.frozen).toBe(original.frozen);
    expect(copy.bytes).toBe(original.bytes);
    expect(copy.constant).toBe(constant);
  });

  it.each([
    ['functions', { hidden: () => 1 }, 'hidden is a function'],
    ['private fields', { hidden: new Secretive() }, 'hidden is a Secretive, which has private fields'],
    ['weak collections', { hidden: new WeakMap() }, 'hidden is a WeakMap'],
    ['keys that are objects', { hidden: new Map([[{}, 1]]) }, 'hidden is a collection with an object as key'],
  ])('is refused for a state with %s, which a copy would share or miss', (_, state, message) => {
    expect(() => copyOf(state, NO_CONSTANTS)).toThrow(message);
  });
});

describe('the text of a state', () => {
  it('is the same for Maps and Sets that were filled in another order', () => {
    const one = [new Map([[1, 2], [3, 4]]), new Set([1, 2])]; // prettier-ignore
    const other = [new Map([[3, 4], [1, 2]]), new Set([2, 1])]; // prettier-ignore
    expect(textOf(one, NO_CONSTANTS)).toBe(textOf(other, NO_CONSTANTS));
  });

  it.each([
    [{ a: 1 }, { a: '1' }],
    [{ a: 1 }, { b: 1 }],
    [[1, 2], [12]],
    [[[1], 2], [[1, 2]]],
    [new Map([[1, 2]]), new Map([[2, 1]])],
    [Uint8Array.of(1, 2), [1, 2]],
    [[undefined], []],
    [{ a: undefined }, { a: null }],
    [new Counter(), Object.assign(new Counter(), { count: 1 })],
  ])('differs for %j and %j', (one, other) => {
    expect(textOf(one, NO_CONSTANTS)).not.toBe(textOf(other, NO_CONSTANTS));
  });

  it('is refused where state could hide', () => {
    expect(() => textOf([() => 1], NO_CONSTANTS)).toThrow('a function');
    expect(() => textOf(new Secretive(), NO_CONSTANTS)).toThrow('private fields');
  });
});
