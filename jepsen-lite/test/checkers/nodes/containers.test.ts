import { describe, expect, it } from 'vitest';

import { checkContainers } from '../../../src/checkers/nodes/containers.ts';
import type { HistoryEvent } from '../../../src/history/history.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type Asked } from '../../support/story.ts';

const PATH = '/containers/b1';

class Containers extends Story {
  create(): HistoryEvent {
    return this.ask({ f: 'create', path: PATH, value: '1', container: true }).ok();
  }

  fill(child = 'c2'): Asked {
    return this.ask({ f: 'create', path: `${PATH}/${child}`, value: '' });
  }

  drop(child = 'c2'): Asked {
    return this.ask({ f: 'delete', path: `${PATH}/${child}` });
  }

  read(value: string | null): HistoryEvent {
    return this.ask({ f: 'read', path: PATH, consistency: 'linearizable' }).ok({ value });
  }

  heals(): HistoryEvent {
    return this.record({ type: 'phase', phase: 'healed' }, 'harness');
  }
}

describe('a container', () => {
  it('goes when it is empty again, and whoever is about to use it is told so', () => {
    const story = new Containers();
    story.heals();
    story.create();
    story.fill().ok();
    story.pass(60_000);
    story.read('1');
    story.drop().ok();
    story.pass(1_000);
    story.fill('c3').fail('NOT_FOUND');
    const verdict = checkContainers(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ containers: 1, children: 1, gone: 1, goneUnderAChild: 1 });
  });

  it('stays that was never used, or of which nobody can tell', () => {
    const story = new Containers();
    story.heals();
    story.create();
    story.pass(60_000);
    story.read('1');
    story.fill().info();
    story.pass(60_000);
    story.read('1');
    expectUnknown(checkContainers(story.history));
  });

  it('is empty for as long again where another server has begun to lead', () => {
    const story = new Containers();
    story.heals();
    story.create();
    story.fill().ok();
    story.drop().ok();
    story.pass(5_000);
    story.record({ type: 'leadership', phase: 'begin', term: 2 }, 's2');
    story.pass(5_000);
    story.read('1');
    story.read(null);
    expectValid(checkContainers(story.history));
  });
});

describe('containers are broken by', () => {
  it('one that goes with a child in it', () => {
    const story = new Containers();
    story.create();
    story.fill().ok();
    story.drop().info();
    const child = story.fill('c3').ok();
    const gone = story.read(null);
    expectBroken(checkContainers(story.history), /is gone, and has the child "\/containers\/b1\/c3"/, child, gone);
  });

  it('one that goes before it was used', () => {
    const story = new Containers();
    const made = story.create();
    const gone = story.read(null);
    expectBroken(checkContainers(story.history), /is gone, and never had a child/, made, gone);
  });

  it('one that stays when it is empty again', () => {
    const story = new Containers();
    story.heals();
    story.create();
    story.fill().ok();
    const empty = story.drop().ok();
    story.pass(5_011);
    const seen = story.read('1');
    expectBroken(checkContainers(story.history), /is still there 5011 ms after its last child has gone/, empty, seen);
  });
});
