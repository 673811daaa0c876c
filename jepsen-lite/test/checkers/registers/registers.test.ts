import { describe, expect, it } from 'vitest';

import { checkRegisters } from '../../../src/checkers/registers/registers.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type Asked } from '../../support/story.ts';

const PATH = '/x';

function read(story: Story): Asked {
  return story.ask({ f: 'read', path: PATH, consistency: 'linearizable' });
}

function set(story: Story, value: string, version?: number): Asked {
  return story.ask({ f: 'set', path: PATH, value, ...(version !== undefined && { version }) });
}

function create(story: Story, value: string): Asked {
  return story.ask({ f: 'create', path: PATH, value });
}

describe('a node', () => {
  it('is a register with a version, and says so in its refusals', () => {
    const story = new Story();
    read(story).ok({ value: null });
    set(story, 'v').fail('NOT_FOUND');
    create(story, 'v0').ok();
    create(story, 'w').fail('NODE_EXISTS');
    set(story, 'v1', 0).ok({ newVersion: 1 });
    set(story, 'w', 0).fail('BAD_VERSION');
    read(story).ok({ value: 'v1', version: 1 });
    story.ask({ f: 'delete', path: PATH, version: 1 }).ok();
    read(story).ok({ value: null });
    create(story, 'again').ok();
    read(story).ok({ value: 'again', version: 0 });
    expectValid(checkRegisters(story.history));
  });

  it('may show either state while a write is under way, but not the old one after the new one', () => {
    const story = new Story();
    create(story, 'old').ok();
    const writing = set(story, 'new');
    read(story).ok({ value: 'old' });
    read(story).ok({ value: 'new' });
    writing.ok();
    expectValid(checkRegisters(story.history));
  });

  it('may take a write of unknown outcome at any later time, or never', () => {
    const story = new Story();
    create(story, 'a').ok();
    set(story, 'late').info();
    set(story, 'never').info();
    set(story, 'open');
    set(story, 'b').ok({ newVersion: 1 });
    read(story).ok({ value: 'b', version: 1 });
    read(story).ok({ value: 'late', version: 2 });
    expectValid(checkRegisters(story.history));
  });

  it('may show what a put of unknown outcome has left, whatever else was put and never seen', () => {
    const story = new Story();
    for (const value of ['a', 'b', 'c']) story.ask({ f: 'put', bucket: 'b', key: 'k', value, token: 1 }).info();
    story.ask({ f: 'get', bucket: 'b', key: 'k' }).ok({ value: 'b' });
    expectValid(checkRegisters(story.history));
    story.ask({ f: 'get', bucket: 'b', key: 'k' }).ok({ value: 'd' });
    expect(checkRegisters(story.history)).toMatchObject({ valid: false });
  });

  it('cannot be judged where nothing was answered', () => {
    const story = new Story();
    set(story, 'a').info();
    read(story).fail('CONNECTION_FAILED');
    expectUnknown(checkRegisters(story.history));
  });

  it('is broken by a stale read', () => {
    const story = new Story();
    create(story, 'old').ok();
    const writing = set(story, 'new');
    const written = writing.ok();
    const reading = read(story);
    const answer = reading.ok({ value: 'old' });
    expectBroken(
      checkRegisters(story.history),
      /^\/x: no order explains that call 3 of c1 read "old"; the register was "new" \(version 1\) then$/,
      writing.invoke,
      written,
      reading.invoke,
      answer,
    );
  });

  it('is broken by reads that go back while a write is under way', () => {
    const story = new Story();
    create(story, 'old').ok();
    const writing = set(story, 'new');
    read(story).ok({ value: 'new' });
    const again = read(story);
    const answer = again.ok({ value: 'old' });
    writing.ok();
    const { valid, broken } = checkRegisters(story.history);
    expect(valid).toBe(false);
    expect(broken[0]?.events).toEqual(expect.arrayContaining([again.invoke.seq, answer.seq]));
  });

  it('is broken by a write that is lost, or done twice', () => {
    const lost = new Story();
    create(lost, 'a').ok();
    set(lost, 'b').ok();
    read(lost).ok({ value: 'a', version: 0 });
    expect(checkRegisters(lost.history).valid).toBe(false);
    const twice = new Story();
    create(twice, 'a').ok();
    set(twice, 'b').ok();
    read(twice).ok({ value: 'b', version: 2 });
    expect(checkRegisters(twice.history).valid).toBe(false);
  });

  it('is broken by a conditional write that passed, or a refusal, without its reason', () => {
    const passed = new Story();
    create(passed, 'a').ok();
    set(passed, 'b', 3).ok();
    expect(checkRegisters(passed.history).valid).toBe(false);
    const refused = new Story();
    create(refused, 'a').ok();
    set(refused, 'b', 0).fail('BAD_VERSION');
    expect(checkRegisters(refused.history).valid).toBe(false);
    const created = new Story();
    create(created, 'a').ok();
    create(created, 'b').ok();
    expect(checkRegisters(created.history).valid).toBe(false);
    const missing = new Story();
    create(missing, 'a').ok();
    set(missing, 'b').fail('NOT_FOUND');
    expect(checkRegisters(missing.history).valid).toBe(false);
  });

  it('is broken by a version that was not reached', () => {
    const story = new Story();
    create(story, 'a').ok();
    set(story, 'b').ok({ newVersion: 5 });
    expect(checkRegisters(story.history).valid).toBe(false);
  });

  it('may show an old state to a weaker read, but none that never was', () => {
    const story = new Story();
    create(story, 'a').ok();
    set(story, 'b').ok();
    story.ask({ f: 'read', path: PATH, consistency: 'local' }).ok({ value: 'a' });
    expectValid(checkRegisters(story.history));
    const answer = story.ask({ f: 'read', path: PATH, consistency: 'session' }).ok({ value: 'c' });
    set(story, 'c').ok();
    expectBroken(checkRegisters(story.history), /^\/x: a read shows "c", which nobody has written$/, answer);
  });
});

describe('registers', () => {
  it('are judged each by itself', () => {
    const story = new Story();
    create(story, 'a').ok();
    story.ask({ f: 'put', bucket: 'b', key: 'k', value: '1:1', token: 1 }).ok();
    story.ask({ f: 'put', bucket: 'b', key: 'other', value: '1:5', token: 1 }).ok();
    story.ask({ f: 'get', bucket: 'b', key: 'k' }).ok({ value: '1:1' });
    expectValid(checkRegisters(story.history));
    const reading = story.ask({ f: 'get', bucket: 'b', key: 'k' });
    reading.ok({ value: '1:5' });
    expect(checkRegisters(story.history).broken[0]?.message).toMatch(/^b\/k: no order explains/);
  });

  it('that would take too long to explain are not judged', () => {
    const story = new Story();
    create(story, 'a').ok();
    for (let n = 0; n < 12; n += 1) set(story, `maybe-${n}`).info();
    read(story).ok({ value: 'a', version: 40 });
    const verdict = checkRegisters(story.history, { searchBudget: 1_000 });
    expectUnknown(verdict);
    expect(verdict.counts).toMatchObject({ givenUp: 1, states: 1_000 });
  });
});
