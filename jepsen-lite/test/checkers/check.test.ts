import { describe, expect, it } from 'vitest';

import { CHECKERS, checkExpectations, checkHistory, worst } from '../../src/checkers/check.ts';
import type { Verdict } from '../../src/checkers/verdict.ts';
import { Story } from '../support/story.ts';

function verdict(valid: Verdict['valid'], checker = 'tokens', counts: Verdict['counts'] = {}): Verdict {
  return { checker, valid, broken: [], counts };
}

describe('all checkers together', () => {
  it('give one verdict each, under the name by which they are known', () => {
    expect(checkHistory([]).map(({ checker }) => checker)).toEqual(Object.keys(CHECKERS));
    expect(checkHistory([], { checkers: ['fence', 'order'] }).map(({ checker }) => checker)).toEqual([
      'fence',
      'order',
    ]);
  });

  it('say of an empty history that nothing was checked', () => {
    expect(new Set(checkHistory([]).map(({ valid }) => valid))).toEqual(new Set(['unknown']));
  });

  it('pass their options on', () => {
    const story = new Story();
    story.ask({ f: 'put', bucket: 'b', key: 'k', value: 'v', token: 1 }).ok();
    story.ask({ f: 'put', bucket: 'b', key: 'k', value: 'w', token: 1 }).ok();
    expect(checkHistory(story.history, { checkers: ['registers'], searchBudget: 0 })[0]?.valid).toBe('unknown');
    expect(checkHistory(story.history, { checkers: ['registers'] })[0]?.valid).toBe(true);
  });

  it('are as good as the worst: broken, then not checked, then fine', () => {
    expect(worst([verdict(true), verdict('unknown'), verdict(false)])).toBe(false);
    expect(worst([verdict(true), verdict('unknown')])).toBe('unknown');
    expect(worst([verdict(true)])).toBe(true);
    expect(worst([])).toBe('unknown');
  });
});

describe('a verdict', () => {
  it('shows the first things that are broken, and counts all', () => {
    const story = new Story();
    for (let n = 0; n < 50; n += 1) story.record({ type: 'cancelled', call: n });
    const { broken, counts } = CHECKERS.completions(story.history);
    expect(broken).toHaveLength(20);
    expect(counts['broken']).toBe(50);
  });
});

describe('expectations', () => {
  const verdicts = [verdict(true, 'tokens', { reported: 12 }), verdict(true, 'unfenced', { staleWrites: 0 })];

  it('are met where enough was seen', () => {
    expect(checkExpectations(verdicts, { tokens: { reported: 12 } })).toEqual({
      checker: 'expectations',
      valid: true,
      broken: [],
      counts: { 'tokens.reported': 12 },
    });
  });

  it('make the run one that did not try what it was meant to, where too little was seen', () => {
    const missed = checkExpectations(verdicts, {
      tokens: { reported: 13 },
      unfenced: { staleWrites: 1 },
      fence: { stale: 1 },
    });
    expect(missed.valid).toBe('unknown');
    expect(missed.broken.map(({ message }) => message)).toEqual([
      'tokens: "reported" was 12, at least 13 was expected',
      'unfenced: "staleWrites" was 0, at least 1 was expected',
      'fence: "stale" was not counted, at least 1 was expected',
    ]);
  });
});
