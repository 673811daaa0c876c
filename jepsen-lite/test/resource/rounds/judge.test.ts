import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/resource/adapters/resource.ts';
import type { Purpose, RoundEvent, WriteEvent } from '../../../src/resource/rounds/event.ts';
import { judgeRound } from '../../../src/resource/rounds/judge.ts';

const TAKEN: Outcome = { type: 'taken' };
const REFUSED: Outcome = { type: 'refused', message: 'old' };
const [OLD, NEW] = [3, 7];

/** From one time to another, with its value named after it. */
function write(
  value: string,
  token: number,
  purpose: Purpose,
  [calledAt, endedAt]: [number, number],
  outcome = TAKEN,
): WriteEvent {
  const who = token === OLD ? 'A' : 'B';
  return { type: 'write', who, purpose, token, value, route: 'own', calledAt, reachedAt: calledAt, endedAt, outcome };
}

function read(value: string | null, calledAt: number): RoundEvent {
  return { type: 'read', who: 'C', value, calledAt, endedAt: calledAt + 1, outcome: TAKEN };
}

function install(token: number, endedAt: number): RoundEvent {
  return { type: 'install', who: 'B', token, calledAt: endedAt - 1, endedAt, outcome: TAKEN };
}

function gotIn(...events: readonly RoundEvent[]): string[] {
  return judgeRound(events).gotIn.map(({ value }) => value);
}

describe('a stale write', () => {
  const newer = write('b', NEW, 'newest', [10, 20]);

  it('got in when a read shows it, whatever its answer was', () => {
    const unknown: Outcome = { type: 'unknown', message: 'no answer' };
    for (const outcome of [TAKEN, REFUSED, unknown]) {
      expect(gotIn(newer, write('a', OLD, 'stale', [30, 40], outcome), read('a', 50)), outcome.type).toEqual(['a']);
    }
  });

  it('is stale by the time at which it can have reached the resource, not by that of its call', () => {
    const late = { ...write('a', OLD, 'stale', [5, 40]), reachedAt: 30 };
    expect(judgeRound([newer, late, read('b', 50)])).toMatchObject({ stale: [late], gotIn: [], acknowledged: [late] });
    const early = write('a', OLD, 'stale', [5, 8]);
    expect(judgeRound([newer, early, read('b', 50)])).toMatchObject({ stale: [], acknowledged: [] });
  });

  it('got in after an installed token, though nothing was written with that', () => {
    expect(gotIn(install(NEW, 20), write('a', OLD, 'stale', [30, 40]), read('a', 50))).toEqual(['a']);
  });

  it('did not get in when it came before the token was installed, and is still there', () => {
    expect(gotIn(write('a', OLD, 'before-contact', [5, 8]), install(NEW, 20), read('a', 50))).toEqual([]);
  });
});

describe('two writes at the same moment', () => {
  const newer = write('b', NEW, 'newest', [10, 20]);
  const older = write('a', OLD, 'racing', [12, 25]);

  it('may end in either order', () => {
    expect(gotIn(newer, older, read('b', 30))).toEqual([]);
    expect(judgeRound([newer, older, read('b', 30)]).overlaps).toBe(1);
  });

  it('may not leave the old value', () => {
    expect(gotIn(newer, older, read('a', 30))).toEqual(['a']);
  });

  it('may show the old value until the newer write is acknowledged', () => {
    expect(gotIn(newer, older, read('a', 15))).toEqual([]);
  });

  it('are not at the same moment when one had ended', () => {
    expect(judgeRound([newer, write('a', OLD, 'racing', [21, 25], REFUSED)]).overlaps).toBe(0);
  });
});

describe('a read', () => {
  const first = write('b1', NEW, 'newest', [10, 20]);
  const second = write('b2', NEW, 'newest', [30, 40]);

  it.each([
    ['b2', 50, 0],
    ['b1', 50, 1],
    [null, 50, 1],
    ['b1', 35, 0],
    ['b2', 35, 0],
    ['another', 5, 0],
  ])('of %s at %i is unexpected %i times', (value, at, times) => {
    expect(judgeRound([first, second, read(value, at)]).unexpected).toHaveLength(times);
  });
});
