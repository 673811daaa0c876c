import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { queueNodeName, queueNodeSequence } from '../../src/locks/lock-name.ts';
import { SessionAcquires, type Counted } from '../../src/locks/session-acquires.ts';

const lock = { acquireBytes: 7 };

describe('the acquires of a session', () => {
  it('are found, counted and listed in order, whatever came and went before', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 40 }), (moves) => {
        const acquires = new SessionAcquires<Counted>();
        const expected = new Map<number, Counted>();
        for (const acquireIndex of moves) {
          const present = expected.get(acquireIndex);
          if (present === undefined) {
            const acquire = { acquireIndex, token: acquireIndex % 2, places: 1, lock };
            expected.set(acquireIndex, acquire);
            acquires.add(acquire);
            acquires.holds += acquire.token;
          } else {
            expected.delete(acquireIndex);
            acquires.remove(present);
          }
          const all = [...expected.values()].sort((left, right) => left.acquireIndex - right.acquireIndex);
          expect(acquires.inOrder()).toEqual(all);
          expect([acquires.size, acquires.listBytes, acquires.holds]).toEqual([
            all.length,
            7 * all.length,
            all.filter(({ token }) => token !== 0).length,
          ]);
          for (let index = 1; index <= 7; index += 1) expect(acquires.get(index)).toBe(expected.get(index));
        }
      }),
    );
  });

  it.each([[[]], [[1]], [[1, 2]]])('do not lose one that is not among %j', (present) => {
    const acquires = new SessionAcquires<Counted>();
    for (const acquireIndex of present) acquires.add({ acquireIndex, token: 0, places: 1, lock });
    expect(() => acquires.remove({ acquireIndex: 9, token: 0, places: 1, lock })).toThrow(
      'an acquire belongs to its session',
    );
  });
});

describe('a queue node', () => {
  it('is named after its number, and known by its name, the first ones and all others', () => {
    for (const sequence of [0, 1, 9, 10, 62, 63, 64, 65, 9_999_999_999, 10_000_000_000]) {
      const name = `q-${`${sequence}`.padStart(10, '0')}`;
      expect(queueNodeName(sequence)).toBe(name);
      expect(queueNodeSequence(name)).toBe(sequence);
    }
    for (const name of ['q--000000001', 'q-0000000000.5', 'q-', 'q-1', 'x-0000000001'])
      expect(queueNodeSequence(name)).toBeUndefined();
  });
});
