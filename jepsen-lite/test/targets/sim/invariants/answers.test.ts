import { describe, expect, it } from 'vitest';
import type { HistoryEventBody } from '../../../../src/history/history.ts';
import { AnswerInvariants } from '../../../../src/targets/sim/invariants/answers.ts';

const SET = { f: 'set', path: '/register-0', value: 'c1-1', session: 1 } as const;
const ACQUIRE = { f: 'acquire', lock: 'lock-0', session: 1 } as const;
const TIMED_OUT = { type: 'info', code: 'TIMEOUT', call: 1 } as const;

function found(...events: readonly (readonly [HistoryEventBody, healed: boolean])[]): string[] {
  const names: string[] = [];
  const invariants = new AnswerInvariants((name) => names.push(name));
  for (const [event, healed] of events) invariants.recorded('c1', event, healed);
  return names;
}

describe('a healed cluster', () => {
  it('answers every command in time', () => {
    expect(found([{ type: 'invoke', call: 1, ...SET }, true], [{ ...TIMED_OUT, ...SET }, true])).toEqual([
      'the-healed-cluster-answers',
    ]);
  });

  it('may be late with what was asked before it was healed', () => {
    expect(found([{ type: 'invoke', call: 1, ...SET }, false], [{ ...TIMED_OUT, ...SET }, true])).toEqual([]);
  });

  it('may let acquires wait, and refuse what it answers', () => {
    const refused: HistoryEventBody = { type: 'fail', code: 'NOT_FOUND', call: 2, ...SET };
    expect(found([{ type: 'invoke', call: 1, ...ACQUIRE }, true], [{ ...TIMED_OUT, ...ACQUIRE }, true])).toEqual([]);
    expect(found([{ type: 'invoke', call: 2, ...SET }, true], [refused, true])).toEqual([]);
  });
});
