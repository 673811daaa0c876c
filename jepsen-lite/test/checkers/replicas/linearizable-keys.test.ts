import { describe, expect, it } from 'vitest';

import { checkLinearizableKeys } from '../../../src/checkers/replicas/linearizable-keys.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { GroupStory } from '../../support/group/group-story.ts';

describe('a key of the replicated store', () => {
  it('may be written, read, compared and set, and deleted', () => {
    const story = new GroupStory();
    story.get(null);
    const { revision } = story.put('a');
    story.get('a', revision);
    story.putting('b', 'c1', { revision, value: 'a' }).ok({ revision: 2, epoch: 1 });
    story.putting('c', 'c2', { revision, value: 'a' }).fail('PRECONDITION_FAILED');
    story.get('b', 2);
    story.delete();
    story.get(null);
    const verdict = checkLinearizableKeys(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ keys: 1, operations: 8, unknown: 0, refused: 1, revisions: 2 });
  });

  it('may show a write of unknown outcome late, or never', () => {
    const story = new GroupStory();
    story.putting('late').info();
    story.putting('never').info();
    const { revision } = story.put('a');
    story.get('a', revision);
    story.get('late', 7);
    const verdict = checkLinearizableKeys(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ unknown: 2 });
  });

  it('says nothing of a refusal for another reason', () => {
    const story = new GroupStory();
    const { revision } = story.put('a');
    story.putting('b', 'c1', { revision, value: 'a' }).fail('NOT_PRIMARY');
    story.get('a', revision);
    expectValid(checkLinearizableKeys(story.history));
  });

  it('is broken by an acknowledged write that is lost', () => {
    const story = new GroupStory();
    const first = story.put('a');
    story.put('b');
    const found = story.get('a', first.revision);
    const verdict = checkLinearizableKeys(story.history);
    expect(verdict.valid).toBe(false);
    expect(verdict.broken[0]?.message).toMatch(/^key b\/k: no order explains that c2 read "a"; it was "b" then$/);
    expect(verdict.broken[0]?.events).toContain(found.seq);
  });

  it('is broken by a last reading that finds nothing of what was acknowledged', () => {
    const story = new GroupStory();
    story.put('a');
    story.quiet();
    story.get(null);
    const verdict = checkLinearizableKeys(story.history);
    expect(verdict.broken.map(({ message }) => message)).toEqual([
      expect.stringMatching(/no order explains that c2 read null; it was "a" then$/),
    ]);
  });

  it('is broken by a replica that has nothing of what was acknowledged, though nobody has read it', () => {
    const story = new GroupStory();
    story.put('a');
    story.kept('r1');
    expect(checkLinearizableKeys(story.history).broken.map(({ message }) => message)).toEqual([
      expect.stringMatching(/no order explains that r1 read null; it was "a" then$/),
    ]);
  });

  it('is broken by a replica that has what was overwritten', () => {
    const story = new GroupStory();
    story.put('a');
    story.put('b');
    story.kept('r1', 'a');
    expect(checkLinearizableKeys(story.history).valid).toBe(false);
  });

  it('may be kept as a write of unknown outcome has left it', () => {
    const story = new GroupStory();
    story.put('a');
    story.putting('b').info();
    story.kept('r1', 'b', 2);
    expectValid(checkLinearizableKeys(story.history));
  });

  it('is broken by a stale read, after anybody was shown the newer value', () => {
    const story = new GroupStory();
    const first = story.put('a');
    const open = story.putting('b');
    story.get('b', 2, 1, 'c2');
    story.get('a', first.revision, 1, 'c3');
    open.info();
    expect(checkLinearizableKeys(story.history).valid).toBe(false);
  });

  it('is broken by a compare-and-set that passes with a value that was overwritten', () => {
    const story = new GroupStory();
    const { revision } = story.put('a');
    story.put('b');
    story.putting('c', 'c1', { revision, value: 'a' }).ok({ revision: 3, epoch: 1 });
    expect(checkLinearizableKeys(story.history).valid).toBe(false);
  });

  it('is broken by a compare-and-set that is refused though nobody has changed the key', () => {
    const story = new GroupStory();
    const { revision } = story.put('a');
    story.putting('b', 'c1', { revision, value: 'a' }).fail('PRECONDITION_FAILED');
    expect(checkLinearizableKeys(story.history).valid).toBe(false);
  });

  it('is broken by a value that has two revisions', () => {
    const story = new GroupStory();
    const { ok } = story.put('a');
    const read = story.get('a', 9);
    expectBroken(
      checkLinearizableKeys(story.history),
      /^key b\/k: the value "a" has revision 1, and then 9$/,
      ok,
      read,
    );
  });

  it('is not judged where nothing was answered', () => {
    const story = new GroupStory();
    story.putting('a').info();
    expectUnknown(checkLinearizableKeys(story.history));
  });
});
