import { describe, expect, it } from 'vitest';

import { CHECKERS } from '../../../src/checkers/check.ts';
import { MAX_SENTENCES, MIN_SENTENCES } from '../../../src/report/limits.ts';
import { eventAt, lastWords, witnessOf } from '../../../src/report/words/witness.ts';
import { Story } from '../../support/story.ts';
import { BROKEN_CHECKERS, brokenHistory } from '../support/broken-histories.ts';

function told(checker: (typeof BROKEN_CHECKERS)[number]): string[] {
  const history = brokenHistory(checker);
  const [first] = CHECKERS[checker](history).broken;
  return witnessOf(history, first?.events ?? []).sentences.map(({ text, context }) => (context ? `(${text})` : text));
}

describe('a failing sub-history in words', () => {
  it.each(BROKEN_CHECKERS)('tells what "%s" found in two to six sentences', (checker) => {
    const sentences = told(checker);
    expect(sentences.length).toBeGreaterThanOrEqual(MIN_SENTENCES);
    expect(sentences.length).toBeLessThanOrEqual(MAX_SENTENCES);
    expect(sentences.filter((text) => !/^\(?[A-Zcs“].*\.\)?$/.test(text))).toEqual([]);
  });

  it('says who asked for what, how long it took, and what they were told', () => {
    expect(told('exclusion')).toEqual([
      'c1 in session 1 asks to acquire a. After 0 s: granted, token 11.',
      'c2 in session 2 asks to acquire a. After 0 s: granted, token 50.',
      'c1 asks its client whether it still holds a (token 11), and it does.',
    ]);
    expect(told('fence')).toEqual([
      'c1 asks to install token 9 at a. After 0 s: done.',
      'c2 asks to write “5:1” to a/n with token 5. After 0 s: done.',
    ]);
  });

  it('adds what happened to the same thing before, where one event says too little', () => {
    expect(told('grants')).toEqual([
      '(c1 in session 1 asks to acquire a. After 0 s: granted, token 11.)',
      'c2 in session 2 asks to acquire a. After 0 s: granted, token 99.',
    ]);
    expect(told('granted-tokens')[1]).toBe('The fenced store accepts token 77 for a (put).');
  });

  it('tells a second answer by itself', () => {
    expect(told('completions')).toEqual([
      'c1 in session 1 asks to acquire a. After 0 s it is told that it had no effect: TIMEOUT.',
      'c1, which asked to acquire a, is told: granted, token 11.',
    ]);
  });

  it('leaves out the middle of a long one, and counts it', () => {
    const story = new Story();
    const events = Array.from({ length: 9 }, (_, n) =>
      story.ask({ f: 'get', bucket: 'b', key: `${n}` }).ok({ value: null }),
    );
    const { sentences, leftOut } = witnessOf(
      story.history,
      events.map(({ seq }) => seq),
    );
    expect(sentences.map(({ seq }) => seq)).toEqual([1, 3, 5, 13, 15, 17]);
    expect(leftOut).toBe(3);
  });

  it('is empty where nothing was named, and passes over what the history lacks', () => {
    const { history } = new Story();
    expect(witnessOf(history, [])).toEqual({ sentences: [], leftOut: 0 });
    expect(witnessOf(history, [4])).toEqual({ sentences: [], leftOut: 0 });
  });
});

describe('the end of a run that was stopped', () => {
  it('is told by what was recorded last', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    story.believe(held);
    story.end(1, 'expired');
    const texts = lastWords(story.history).sentences.map(({ text }) => text);
    expect(texts.at(-1)).toBe('Entry 12: session 1 (c1) is ended: expired.');
    expect(texts.some((text) => text.includes('still holds'))).toBe(false);
    expect(lastWords([]).sentences).toEqual([]);
  });
});

describe('an event of a history', () => {
  it('is found by its number, also where numbers are missing', () => {
    const { history } = ((story: Story) => (story.acquire('a', 1), story))(new Story());
    const gapped = history.filter(({ seq }) => seq !== 2);
    expect(eventAt(history, 3)).toBe(history[2]);
    expect(eventAt(gapped, 3)).toBe(history[2]);
    expect(eventAt(gapped, 2)).toBeUndefined();
  });
});
