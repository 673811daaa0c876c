import { describe, expect, it } from 'vitest';

import { checkTtlNodes } from '../../../src/checkers/nodes/ttl-nodes.ts';
import type { HistoryEvent } from '../../../src/history/history.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type Asked } from '../../support/story.ts';

const PATH = '/limited/n1';
const CHILD = `${PATH}/c2`;
const TTL_MS = 1_000;

class Limited extends Story {
  create(path = PATH): HistoryEvent {
    return this.ask({ f: 'create', path, value: '1', ...(path === PATH ? { ttlMs: TTL_MS } : {}) }).ok();
  }

  set(path = PATH): Asked {
    return this.ask({ f: 'set', path, value: 'x' });
  }

  read(path = PATH): Asked {
    return this.ask({ f: 'read', path, consistency: 'linearizable' });
  }

  isThere(path = PATH): HistoryEvent {
    return this.read(path).ok({ value: '1', version: 0 });
  }

  isGone(path = PATH): HistoryEvent {
    return this.read(path).ok({ value: null });
  }

  drop(path = CHILD): Asked {
    return this.ask({ f: 'delete', path });
  }

  begins(term: number): HistoryEvent {
    return this.record({ type: 'leadership', phase: 'begin', term }, 's2');
  }

  heals(): HistoryEvent {
    return this.record({ type: 'phase', phase: 'healed' }, 'harness');
  }

  jumps(): HistoryEvent {
    return this.record({ type: 'fault', fault: 'wall-jump', phase: 'begin', hosts: 's1' }, 'harness');
  }
}

describe('a node with a time to live', () => {
  it('goes when it was not changed for as long, and had no children', () => {
    const story = new Limited();
    story.create();
    story.pass(900);
    story.set().ok({ newVersion: 1 });
    story.pass(900);
    story.create(CHILD);
    story.pass(2_000);
    story.isThere();
    story.drop().ok();
    story.pass(300);
    story.isGone();
    const verdict = checkTtlNodes(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ nodes: 1, gone: 1, goneInTime: 1 });
  });

  it('may go earlier where the wall clock of a server has jumped before another one began to lead', () => {
    const story = new Limited();
    story.jumps();
    story.create();
    story.begins(2);
    story.pass(10);
    story.isGone();
    const verdict = checkTtlNodes(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ excused: 1, goneInTime: 0 });
  });

  it('may go by a clock that is as fast as is allowed', () => {
    const story = new Limited();
    story.create();
    story.pass(TTL_MS / 1.01);
    story.isGone();
    expectValid(checkTtlNodes(story.history));
    expect(checkTtlNodes(story.history, { clockRateError: 0.001 }).valid).toBe(false);
  });

  it('may stay while it is used, before everything has healed, and while nobody can tell', () => {
    const story = new Limited();
    story.create();
    story.pass(60_000);
    story.isThere();
    story.heals();
    story.create(CHILD);
    story.pass(60_000);
    story.isThere();
    story.drop().ok();
    story.set().info();
    story.pass(60_000);
    story.isThere();
    expectUnknown(checkTtlNodes(story.history));
  });

  it('may stay for what an election does not count: the time that is in no entry', () => {
    const story = new Limited();
    story.heals();
    story.create();
    story.pass(30_000);
    story.begins(2);
    story.pass(4_900);
    story.isThere();
    story.pass(200);
    story.isGone();
    expectValid(checkTtlNodes(story.history));
  });

  it('that nobody has seen gone shows nothing', () => {
    const story = new Limited();
    story.create();
    story.isThere();
    expectUnknown(checkTtlNodes(story.history));
  });
});

describe('times to live are broken by', () => {
  it('a node that goes too early', () => {
    const story = new Limited();
    story.create();
    story.pass(600);
    const set = story.set();
    const done = set.ok({ newVersion: 1 });
    story.pass(500);
    const gone = story.isGone();
    expectBroken(checkTtlNodes(story.history), /is gone 500 ms after its last change/, set.invoke, done, gone);
  });

  it('a node that goes too early, whatever a wall clock does while one server leads', () => {
    const story = new Limited();
    story.begins(2);
    story.pass(5_000);
    story.jumps();
    story.create();
    story.pass(100);
    story.isGone();
    expect(checkTtlNodes(story.history).broken[0]?.message).toMatch(/is gone 100 ms after/);
  });

  it('a node that goes with a child in it', () => {
    const story = new Limited();
    story.create();
    const child = story.create(CHILD);
    story.pass(5_000);
    story.ask({ f: 'create', path: `${PATH}/c3`, value: '' }).fail('SESSION_EXPIRED');
    const gone = story.set().fail('NOT_FOUND');
    expectBroken(checkTtlNodes(story.history), /is gone, and has the child/, child, gone);
  });

  it('a child that goes with its node', () => {
    const story = new Limited();
    story.create();
    const child = story.create(CHILD);
    story.pass(5_000);
    const gone = story.drop().fail('NOT_FOUND');
    expectBroken(checkTtlNodes(story.history), /c2" is gone, and nobody has deleted it/, child, gone);
  });

  it('a node that comes back', () => {
    const story = new Limited();
    story.create();
    story.pass(2_000);
    const gone = story.isGone();
    const again = story.isThere();
    expectBroken(checkTtlNodes(story.history), /was gone, and is there again/, gone, again);
  });

  it('a node that stays, once everything has healed', () => {
    const story = new Limited();
    story.heals();
    const made = story.create();
    story.pass(5_011);
    const seen = story.isThere();
    expectBroken(checkTtlNodes(story.history), /is still there 5011 ms after/, made, seen);
  });

  it('a time to live that begins anew with an election', () => {
    const story = new Limited();
    story.heals();
    const made = story.ask({ f: 'create', path: PATH, value: '1', ttlMs: 20_000 }).ok();
    story.pass(15_000);
    story.ask({ f: 'set', path: '/other', value: 'x' }).ok();
    story.pass(2_500);
    const leader = story.begins(2);
    story.pass(9_800);
    const seen = story.isThere();
    expectBroken(checkTtlNodes(story.history), /is still there 27300 ms after/, made, leader, seen);
  });
});
