import { describe, expect, it } from 'vitest';

import { checkLinearizableLocks } from '../../../src/checkers/locks/linearizable.ts';
import { checkRegisters } from '../../../src/checkers/registers/registers.ts';
import type { Verdict } from '../../../src/checkers/verdict.ts';
import { orderText } from '../../../src/report/words/order.ts';
import { Story } from '../../support/story.ts';

function told(verdict: Verdict): readonly string[] {
  const linearization = verdict.broken[0]?.linearization;
  if (linearization === undefined) throw new Error('the checker handed no order over');
  return orderText(linearization).split('\n');
}

describe('the longest order that explains answers', () => {
  it('names what has a place in it, in that order, and what has none behind it', () => {
    const story = new Story();
    const [path, session] = ['/a', 1];
    story.ask({ f: 'create', path, value: 'one', session }).ok();
    story.ask({ f: 'set', path, value: 'two', session }).ok({ newVersion: 1 });
    story.ask({ f: 'read', path, consistency: 'linearizable', session }).ok({ value: 'one', version: 0 });
    expect(told(checkRegisters(story.history))).toEqual([
      '/a: one order explains 2 of 3 answers.',
      '  1. call 1 of c1 created it with "one"  (events 1–2)',
      '  2. call 2 of c1 set it to "two"  (events 3–4)',
      'then it is "two" (version 1), and there is no place for',
      '  ✗ call 3 of c1 read "one" (version 0)  (events 5–6)',
    ]);
  });

  it('tells what was under way beside it, and what of a long order it leaves out', () => {
    const story = new Story();
    for (let token = 1; token <= 50; token += 1) {
      story.ask({ f: 'acquire', lock: 'a', session: 1 }).ok({ token, hold: token });
      story.ask({ f: 'release', lock: 'a', session: 1, token, hold: token }).ok();
    }
    const waiting = story.ask({ f: 'acquire', lock: 'a', session: 2 });
    story.ask({ f: 'acquire', lock: 'a', session: 3 }).ok({ token: 45, hold: 45 });
    waiting.ok({ token: 61, hold: 61 });
    const lines = told(checkLinearizableLocks(story.history));
    expect(lines[1]).toBe('  … 60 operations before');
    expect(lines).toContain('   99. session 1 acquired it with token 50  (events 197–198)');
    expect(lines).toContain('then it is free, highest token 50, and there is no place for');
    expect(lines.at(-1)).toBe('  · session 2 acquired it with token 61  (events 201–204)');
  });
});
