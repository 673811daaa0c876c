import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/nemeses/index.ts';
import { secondTurns } from '../../src/targets/second-turns.ts';

const flip: Fault = { kind: 'bit-flip', atMs: 10_000, host: 's1', at: 0.5, bit: 1 };
const crash: Fault = { kind: 'crash', atMs: 11_000, forMs: 500, hosts: ['s1'], tear: 'none' };
const late: Fault = { kind: 'kill', atMs: 14_000, forMs: 500, hosts: ['s2'] };
const early: Fault = { kind: 'pause', atMs: 1_000, forMs: 2_000, host: 's2' };
const add: Fault = { kind: 'add-member', atMs: 10_500, server: 4, observer: false, startAfterMs: 0 };
const schedule = [early, flip, add, crash, late];

describe('the second turn of a kind that has done nothing', () => {
  it('is its first fault alone, then with what lasted then or came soon after', () => {
    expect(secondTurns('bit-flip', schedule)).toEqual([
      { faults: [{ ...flip, atMs: 0 }], lastsMs: 2_000 },
      {
        faults: [
          { ...flip, atMs: 0 },
          { ...crash, atMs: 1_000 },
        ],
        lastsMs: 3_500,
      },
    ]);
  });

  it('holds what had begun before it', () => {
    const pause: Fault = { kind: 'pause', atMs: 9_500, forMs: 600, host: 's1' };
    expect(secondTurns('bit-flip', [pause, flip])[1]).toEqual({
      faults: [
        { ...pause, atMs: 0 },
        { ...flip, atMs: 500 },
      ],
      lastsMs: 2_600,
    });
  });

  it('is time with nothing beside it for an operator, whose command is still given', () => {
    expect(secondTurns('add-member', schedule)).toEqual([{ faults: [], lastsMs: 15_000 }]);
  });

  it('is not for what the schedule lacks', () => {
    expect(secondTurns('cut', schedule)).toEqual([]);
    expect(secondTurns('remove-member', schedule)).toEqual([]);
  });
});
