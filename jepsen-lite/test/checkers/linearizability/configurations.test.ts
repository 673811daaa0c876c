import { describe, expect, it } from 'vitest';

import { Configurations } from '../../../src/checkers/linearizability/configurations.ts';

const WORDS = 3;
/** So many of each kind that places of the table are shared by the hundreds. */
const EACH = 20_000;

interface Configuration {
  readonly returns: number;
  readonly open: number;
  readonly state: number;
  readonly set: Int32Array;
}

/** All distinct, and every two of a kind differ in one field alone. */
function distinct(): Configuration[] {
  const set = (place = 0, word = 0): Int32Array =>
    Int32Array.from({ length: WORDS }, (_, at) => (at === place ? word : 0));
  const numbers = Array.from({ length: EACH }, (_, at) => at + 1);
  return [
    ...numbers.map((returns) => ({ returns, open: 0, state: 0, set: set() })),
    ...numbers.map((open) => ({ returns: 0, open, state: 0, set: set() })),
    ...numbers.map((state) => ({ returns: 0, open: 0, state, set: set() })),
    ...[0, 1, 2].flatMap((place) =>
      numbers.map((word) => ({ returns: 0, open: 0, state: 0, set: set(place, word * 77) })),
    ),
  ];
}

describe('the memory of configurations', () => {
  it('takes each once, and no two that differ for one, wherever they share a place', () => {
    const memory = new Configurations(WORDS);
    const all = distinct();
    const add = ({ returns, open, state, set }: Configuration, at: number): number =>
      memory.add(returns, open, state, set, at - 1, at % 50);
    expect(all.map(add).filter((number, at) => number !== at)).toEqual([]);
    expect(all.map(add).filter((number) => number !== -1)).toEqual([]);
    expect(memory.size).toBe(all.length);
    const read = new Int32Array(WORDS);
    for (const at of [0, EACH, 2 * EACH + 5, 3 * EACH + 1, all.length - 1]) {
      memory.copySet(at, read);
      const found = { returns: memory.returns(at), open: memory.open(at), state: memory.state(at), set: read };
      expect(found).toEqual(all[at]);
      expect([memory.parent(at), memory.via(at)]).toEqual([at - 1, at % 50]);
    }
  });
});
