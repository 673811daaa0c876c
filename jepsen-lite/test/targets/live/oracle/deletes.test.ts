import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placesOfDeletes, type DeleteAnswer } from '../../../../src/targets/live/oracle/deletes.ts';

describe('deletes of a session and what the log has of them', () => {
  it('lie side by side where all were answered', () => {
    expect(placesOfDeletes(['done', 'not-found', 'done'], [true, false, true])).toEqual([0, 1, 2]);
  });

  it('leave out the one that was given up and never became an entry', () => {
    expect(placesOfDeletes(['done', 'unknown', 'not-found', 'done'], [true, false, true])).toEqual([
      0,
      'nowhere',
      1,
      2,
    ]);
  });

  it('know the entry of one that was given up where no other can have it', () => {
    expect(placesOfDeletes(['unknown', 'done'], [false, true])).toEqual([0, 1]);
  });

  it('do not guess which of two that were given up became the entry', () => {
    expect(placesOfDeletes(['unknown', 'unknown', 'done'], [true, true])).toEqual(['somewhere', 'somewhere', 1]);
    expect(placesOfDeletes(['unknown', 'done', 'unknown', 'done'], [true, true, true])).toEqual([
      'somewhere',
      'somewhere',
      'somewhere',
      2,
    ]);
  });

  it('miss one that was acknowledged, and only that one', () => {
    expect(placesOfDeletes(['done', 'not-found', 'done', 'not-found'], [true, false, false])).toEqual([
      0,
      1,
      'nowhere',
      2,
    ]);
    expect(placesOfDeletes(['done'], [])).toEqual(['nowhere']);
  });

  it('are all there, and never at a wrong place, whichever were given up and became entries', () => {
    const truth = fc.array(fc.record({ done: fc.boolean(), logged: fc.boolean(), givenUp: fc.boolean() }), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(truth, (all) => {
        const calls = all.map(({ done, givenUp }): DeleteAnswer => (givenUp ? 'unknown' : done ? 'done' : 'not-found'));
        const isLogged = ({ logged, givenUp }: { logged: boolean; givenUp: boolean }): boolean => logged || !givenUp;
        const entries = all.filter(isLogged).map(({ done }) => done);
        let place = 0;
        for (const [n, found] of placesOfDeletes(calls, entries).entries()) {
          const call = all[n];
          if (call === undefined) throw new Error('more places than calls');
          if (isLogged(call)) {
            expect(found === 'somewhere' || found === place).toBe(true);
            place += 1;
          } else {
            expect(found === 'nowhere' || found === 'somewhere').toBe(true);
          }
        }
      }),
    );
  });
});
