import { describe, expect, it } from 'vitest';

import { checkListAppend } from '../../../src/checkers/registers/list-append.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type Asked } from '../../support/story.ts';

const PATH = '/list-0-0';

function set(story: Story, value: string, version = 0, process = 'c1'): Asked {
  return story.ask({ f: 'set', path: PATH, value, version }, process);
}

function read(story: Story, process = 'c1'): Asked {
  return story.ask({ f: 'read', path: PATH, consistency: 'linearizable' }, process);
}

function begun(): Story {
  const story = new Story();
  story.ask({ f: 'create', path: PATH, value: '' }).ok();
  return story;
}

describe('a list that is appended to', () => {
  it('has each element that was acknowledged once, in one order for all', () => {
    const story = begun();
    set(story, 'a').ok();
    const other = read(story, 'c2');
    set(story, 'a b', 1).ok();
    // It was under way together with the append.
    other.ok({ value: 'a' });
    set(story, 'a b c', 2).info();
    set(story, 'a x', 1, 'c2').fail('BAD_VERSION');
    read(story).ok({ value: 'a b c' });
    set(story, 'a b c d', 3).info();
    read(story, 'c2').ok({ value: 'a b c' });
    const verdict = checkListAppend(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ lists: 1, appends: 2, unknown: 2, reads: 3, readToTheEnd: 1 });
  });

  it('is not judged to the end where nobody has read it after the last append', () => {
    const story = begun();
    set(story, 'a').ok();
    read(story).info();
    const verdict = checkListAppend(story.history);
    expectUnknown(verdict);
    expect(verdict.counts).toMatchObject({ notReadToTheEnd: 1 });
  });

  it('is not judged to the end by a read that began before the last append was answered', () => {
    const story = begun();
    const append = set(story, 'a');
    const early = read(story, 'c2');
    append.ok();
    early.ok({ value: '' });
    expectUnknown(checkListAppend(story.history));
  });

  it('says nothing of other nodes', () => {
    const story = new Story();
    story.ask({ f: 'set', path: '/register-0', value: 'a' }).ok();
    expectUnknown(checkListAppend(story.history));
  });
});

describe('a list is broken by', () => {
  it('an acknowledged append that a later read does not show, as after a power loss', () => {
    const story = begun();
    set(story, 'a').ok();
    const acknowledged = set(story, 'a b', 1).ok();
    const late = read(story, 'c2');
    const found = late.ok({ value: 'a' });
    const words = /"b", its element 2, was there before and is lost: a later call saw 1 elements/;
    expectBroken(checkListAppend(story.history), words, acknowledged, late.invoke, found);
  });

  it('a list that is gone as a whole', () => {
    const story = begun();
    const acknowledged = set(story, 'a').ok();
    const late = read(story);
    const found = late.ok({ value: null });
    expectBroken(checkListAppend(story.history), /"a", its element 1, .* is lost/, acknowledged, late.invoke, found);
  });

  it('what one has read and the next one has not, though it was not acknowledged', () => {
    const story = begun();
    set(story, 'a').info();
    const first = read(story).ok({ value: 'a' });
    const second = read(story, 'c2');
    const found = second.ok({ value: '' });
    set(story, 'b').ok();
    const verdict = checkListAppend(story.history);
    expect(verdict.valid).toBe(false);
    expect(verdict.broken.map(({ events }) => events)).toContainEqual([first.seq, second.invoke.seq, found.seq]);
  });

  it('two orders of its elements', () => {
    const story = begun();
    const append = set(story, 'a');
    const other = set(story, 'b', 0, 'c2');
    const one = append.ok();
    other.ok();
    read(story).ok({ value: 'b' });
    const words = /its element 1 was "b" to one, and "a" to another/;
    const { valid, broken } = checkListAppend(story.history);
    expect(valid).toBe(false);
    expect(broken[0]?.message).toMatch(words);
    expect(broken[0]?.events).toContain(one.seq);
  });

  it('an element that is in it twice, since the request was done twice', () => {
    const story = begun();
    const append = set(story, 'a');
    append.info();
    const found = read(story).ok({ value: 'a a' });
    set(story, 'a a b', 2).info();
    expectBroken(checkListAppend(story.history), /"a" was appended once, and is in it twice/, append.invoke, found);
  });

  it('an append that was refused and is there', () => {
    const story = begun();
    const refused = set(story, 'a').fail('BAD_VERSION');
    const found = read(story).ok({ value: 'a' });
    expectBroken(checkListAppend(story.history), /append of "a" was refused \(BAD_VERSION\)/, refused, found);
  });

  it('an element of nobody', () => {
    const story = begun();
    set(story, 'a').info();
    const found = read(story).ok({ value: 'z' });
    expectBroken(checkListAppend(story.history), /it has "z", which nobody has appended/, found);
  });
});
