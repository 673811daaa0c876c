import { describe, expect, it } from 'vitest';

import { checkExactlyOnce } from '../../../src/checkers/registers/exactly-once.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type Asked } from '../../support/story.ts';

const PARENT = '/once-0-0';

interface Creating extends Asked {
  /** Answered with this number. */
  readonly made: (number: number) => ReturnType<Asked['ok']>;
  readonly name: (number: number) => string;
}

function create(story: Story, call: number, process = 'c1'): Creating {
  const path = `${PARENT}/n${call}-`;
  const asked = story.ask({ f: 'create-sequential', path, value: path }, process);
  const numbered = (number: number): string => String(number).padStart(10, '0');
  return {
    ...asked,
    made: (number) => asked.ok({ created: `${path}${numbered(number)}` }),
    name: (number) => `n${call}-${numbered(number)}`,
  };
}

function list(story: Story, process = 'c2'): Asked {
  return story.ask({ f: 'list', path: PARENT }, process);
}

describe('sequential creates', () => {
  it('make a node each, those of unknown outcome one at most', () => {
    const story = new Story();
    const first = create(story, 1);
    const second = create(story, 2);
    // Under way together, in either order.
    second.made(0);
    first.made(1);
    const unknown = create(story, 3);
    unknown.info();
    create(story, 4).info();
    create(story, 5).fail('NOT_FOUND');
    const last = create(story, 6);
    last.made(3);
    list(story).ok({ names: [first.name(1), second.name(0), unknown.name(2), last.name(3)] });
    const verdict = checkExactlyOnce(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ parents: 1, created: 3, unknown: 2, lists: 1, listedToTheEnd: 1 });
  });

  it('are not judged to the end where nobody lists them after the last', () => {
    const story = new Story();
    const early = list(story);
    create(story, 1).made(0);
    early.ok({ names: null });
    expectUnknown(checkExactlyOnce(story.history));
  });
});

describe('sequential creates are broken by', () => {
  it('two nodes of one call, which was sent again and done twice', () => {
    const story = new Story();
    const created = create(story, 1);
    const ok = created.made(0);
    const found = list(story).ok({ names: [created.name(0), created.name(1)] });
    expectBroken(
      checkExactlyOnce(story.history),
      /one call has created "n1-0+" and "n1-0+1"/,
      created.invoke,
      ok,
      found,
    );
  });

  it('two nodes of a call of unknown outcome', () => {
    const story = new Story();
    const created = create(story, 1);
    const info = created.info();
    const found = list(story).ok({ names: [created.name(0), created.name(1)] });
    create(story, 2);
    const { broken } = checkExactlyOnce(story.history);
    expect(broken.map(({ message }) => message)).toEqual([expect.stringMatching(/one call has created/)]);
    expect(broken[0]?.events).toEqual([created.invoke.seq, info.seq, found.seq]);
  });

  it('one number for two calls', () => {
    const story = new Story();
    const [one, other] = [create(story, 1), create(story, 2, 'c2')];
    const [first, second] = [one.made(0), other.made(0)];
    list(story).ok({ names: [one.name(0), other.name(0)] });
    expectBroken(checkExactlyOnce(story.history), /two calls were answered with the number 0/, first, second);
  });

  it('a lower number for a call that began later', () => {
    const story = new Story();
    const first = create(story, 1);
    const before = first.made(1);
    const later = create(story, 2);
    const ok = later.made(0);
    list(story).ok({ names: [first.name(1), later.name(0)] });
    const words = /the number 0 went to a call that began after 1 was reported/;
    expectBroken(checkExactlyOnce(story.history), words, before, later.invoke, ok);
  });

  it('an acknowledged node that a later list has not', () => {
    const story = new Story();
    const ok = create(story, 1).made(0);
    const asked = list(story);
    const found = asked.ok({ names: [] });
    expectBroken(checkExactlyOnce(story.history), /"n1-0+" was created and is lost/, ok, asked.invoke, found);
  });

  it('a number that no child has', () => {
    const story = new Story();
    const created = create(story, 1);
    created.made(1);
    const found = list(story).ok({ names: [created.name(1)] });
    expectBroken(checkExactlyOnce(story.history), /of 1 children none has the number 0/, found);
  });

  it('a create that was refused and made a node', () => {
    const story = new Story();
    const refused = create(story, 1);
    const fail = refused.fail('NOT_FOUND');
    const found = list(story).ok({ names: [refused.name(0)] });
    expectBroken(checkExactlyOnce(story.history), /was refused \(NOT_FOUND\) and made "n1-0+"/, fail, found);
  });

  it('a node of nobody', () => {
    const story = new Story();
    const created = create(story, 1);
    created.made(0);
    const found = list(story).ok({ names: [created.name(0), 'n77-0000000001'] });
    expectBroken(checkExactlyOnce(story.history), /it has "n77-0000000001", which nobody had asked for/, found);
  });

  it('an answer with the name of another call', () => {
    const story = new Story();
    const created = create(story, 1);
    const ok = created.ok({ created: `${PARENT}/n2-0000000000` });
    expectBroken(checkExactlyOnce(story.history), /was answered with ".*n2-0+"/, created.invoke, ok);
  });
});
