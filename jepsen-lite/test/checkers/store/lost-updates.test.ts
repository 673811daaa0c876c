import { describe, expect, it } from 'vitest';

import { checkLostUpdates } from '../../../src/checkers/store/lost-updates.ts';
import { checkUnfenced } from '../../../src/checkers/store/unfenced.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type Asked, type ReportedHold } from '../../support/story.ts';

function put(story: Story, value: string, bucket = 'b'): Asked {
  return story.ask({ f: 'put', bucket, key: 'n', value, token: Number(value.split(':')[0]) });
}

function get(story: Story, bucket = 'b'): Asked {
  return story.ask({ f: 'get', bucket, key: 'n' });
}

describe('updates of a fenced register', () => {
  it('build on one another, whether or not their writers were answered', () => {
    const story = new Story();
    get(story).ok({ value: null });
    put(story, '5:1').ok();
    put(story, '5:2').info();
    get(story).ok({ value: '5:2' });
    put(story, '9:3').ok();
    put(story, '5:3').fail('STALE_TOKEN', { highest: 9 });
    get(story).ok({ value: '9:3' });
    const verdict = checkLostUpdates(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ registers: 1, updates: 2, reads: 3, unknown: 1 });
  });

  it('of which one may have had no effect may be made again', () => {
    const story = new Story();
    put(story, '5:1').info();
    get(story).ok({ value: null });
    put(story, '9:1').ok();
    get(story).ok({ value: '9:1' });
    expectValid(checkLostUpdates(story.history));
  });

  it('cannot be judged without reads, or in values of another form', () => {
    const unread = new Story();
    put(unread, '5:1').ok();
    expectUnknown(checkLostUpdates(unread.history));
    const free = new Story();
    free.ask({ f: 'put', bucket: 'b', key: 'n', value: 'hello', token: 5 }).ok();
    get(free).ok({ value: 'hello' });
    expectUnknown(checkLostUpdates(free.history));
  });

  it('are broken by two that were built on the same one', () => {
    const story = new Story();
    const one = put(story, '5:1');
    const other = put(story, '9:1');
    const first = one.ok();
    const second = other.ok();
    get(story).ok({ value: '9:1' });
    expectBroken(
      checkLostUpdates(story.history),
      /"5:1" and "9:1" were built on the same one; one of them is lost/,
      first,
      second,
    );
  });

  it('are broken by a late write over a later state', () => {
    const story = new Story();
    put(story, '5:1').ok();
    const known = put(story, '9:2').ok();
    const late = put(story, '5:1').ok();
    get(story).ok({ value: '9:2' });
    expectBroken(
      checkLostUpdates(story.history),
      /"5:1" overwrote "9:2", which was known before it was sent/,
      known,
      late,
    );
  });

  it('are broken by a read that goes back', () => {
    const story = new Story();
    put(story, '5:1').ok();
    const known = put(story, '5:2').ok();
    const read = get(story).ok({ value: '5:1' });
    expectBroken(checkLostUpdates(story.history), /a read shows "5:1" after "5:2" was known/, known, read);
  });

  it('are broken when all is gone at the end', () => {
    const story = new Story();
    const known = put(story, '5:1').ok();
    const read = get(story).ok({ value: null });
    expectBroken(checkLostUpdates(story.history), /a read shows null after "5:1" was known/, known, read);
  });

  it('are broken by a read of what nobody has written, or not yet', () => {
    const story = new Story();
    put(story, '5:1').ok();
    const read = get(story).ok({ value: '7:2' });
    put(story, '7:2').info();
    expectBroken(checkLostUpdates(story.history), /a read shows "7:2", which nobody has written/, read);
  });

  it('are broken by one that was refused and took effect', () => {
    const story = new Story();
    put(story, '5:1').ok();
    const asked = put(story, '5:2');
    get(story).ok({ value: '5:2' });
    const refused = asked.fail('STALE_TOKEN', { highest: 9 });
    expectBroken(checkLostUpdates(story.history), /"5:2" was refused, and took effect/, asked.invoke, refused);
    const before = new Story();
    put(before, '5:1').ok();
    put(before, '5:2').fail('STALE_TOKEN', { highest: 9 });
    const read = get(before).ok({ value: '5:2' });
    expectBroken(checkLostUpdates(before.history), /which nobody has written/, read);
  });

  it('are broken by one that was written under the token of another', () => {
    const story = new Story();
    const done = story.ask({ f: 'put', bucket: 'b', key: 'n', value: '5:1', token: 9 }).ok();
    get(story).ok({ value: '5:1' });
    expectBroken(checkLostUpdates(story.history), /"5:1" was written under token 9/, done);
  });
});

describe('a register without a fence', () => {
  it('is never broken, and what goes wrong there is counted', () => {
    const story = new Story();
    put(story, '5:1', 'unfenced').ok();
    put(story, '9:2', 'unfenced').ok();
    put(story, '5:2', 'unfenced').ok();
    const slow = put(story, '9:3', 'unfenced');
    put(story, '10:3', 'unfenced').ok();
    slow.ok();
    expect(checkUnfenced(story.history)).toMatchObject({
      valid: true,
      broken: [],
      counts: { writes: 5, staleWrites: 1, lostUpdates: 2, changedReads: 0 },
    });
    expectUnknown(checkLostUpdates(story.history));
  });

  it('may change under those who hold its lock to read, which is counted where they know that they hold it', () => {
    const story = new Story();
    const read = { type: 'readWrite', write: false } as const;
    const look = ({ lock, hold }: ReportedHold, value: string): void => {
      story.ask({ f: 'get', bucket: 'unfenced', key: lock, hold }).ok({ value });
    };
    const late = story.ask({ f: 'put', bucket: 'unfenced', key: 'a', value: '5:1', token: 5 });
    const [reader, ignorant, steady] = [1, 2, 3].map((session) => story.acquire('a', session, read));
    if (reader === undefined || ignorant === undefined || steady === undefined) throw new Error('three hold it');
    for (const hold of [reader, ignorant]) look(hold, '9:1');
    late.ok();
    for (const hold of [reader, ignorant, steady, steady]) look(hold, '5:1');
    for (const hold of [reader, steady]) story.believe(hold);
    expect(checkUnfenced(story.history)).toMatchObject({ valid: true, counts: { writes: 1, changedReads: 1 } });
  });

  it('is broken where the store has lost that its bucket goes without tokens', () => {
    const story = new Story();
    put(story, '5:1', 'unfenced').ok();
    const asked = put(story, '9:2', 'unfenced');
    const refused = asked.fail('TOKEN_REQUIRED');
    put(story, '9:3', 'b').fail('TOKEN_REQUIRED');
    expectBroken(checkUnfenced(story.history), /unfenced\/n: a write needs a token now/, asked.invoke, refused);
  });

  it('shows nothing where nobody wrote to it', () => {
    const story = new Story();
    put(story, '5:1').ok();
    put(story, '5:1', 'unfenced').info();
    expectUnknown(checkUnfenced(story.history));
  });
});
