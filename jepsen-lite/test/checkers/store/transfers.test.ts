import { describe, expect, it } from 'vitest';

import { checkTransfers } from '../../../src/checkers/store/transfers.ts';
import type { HistoryEvent } from '../../../src/history/history.ts';
import { AMOUNT_KEY } from '../../../src/history/locks/accounts.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type ReportedHold } from '../../support/story.ts';

const ACCOUNTS = ['a', 'b', 'c'];

function put(story: Story, bucket: string, value: string): ReturnType<Story['ask']> {
  const token = Number(value.split(':')[0]);
  return story.ask({ f: 'put', bucket, key: AMOUNT_KEY, value, token });
}

/** Session 9 holds the locks of all accounts, by one hold, and reads them. */
function audit(story: Story, values: readonly (string | null)[]): readonly HistoryEvent[] {
  const index = story.nextIndex();
  const held = ACCOUNTS.map((lock): ReportedHold => {
    const { invoke, ok } = story.ask({ f: 'acquire', lock, session: 9, others: [] });
    const event = ok({ token: index, hold: index });
    return { lock, session: 9, token: index, hold: index, invoke, ok: event, enqueued: invoke, granted: invoke };
  });
  const reads = ACCOUNTS.map((bucket, place) =>
    story.ask({ f: 'get', bucket, key: AMOUNT_KEY, hold: index }, 'c9').ok({ value: values[place] ?? null }),
  );
  const believed = held.map((each) => story.believe(each)).at(-1);
  return believed === undefined ? reads : [...reads, believed];
}

describe('accounts', () => {
  it('have the same together, whatever was moved', () => {
    const story = new Story();
    put(story, 'a', '5:1:93:-7').ok();
    put(story, 'b', '5:1:107:7').ok();
    audit(story, ['5:1:93:-7', '5:1:107:7', null]);
    const verdict = checkTransfers(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ moved: 1, halves: 0, audits: 1 });
  });

  it('lack what was moved by half, and no more', () => {
    const story = new Story();
    put(story, 'a', '5:1:93:-7').ok();
    put(story, 'b', '5:1:107:7').ok();
    put(story, 'b', '6:2:100:-7').ok();
    put(story, 'c', '6:1:107:7').fail('UNREACHABLE');
    audit(story, ['5:1:93:-7', '6:2:100:-7', null]);
    expect(checkTransfers(story.history)).toMatchObject({ valid: true, counts: { halves: 1 } });
  });

  it('show that a write took effect whose answer got lost', () => {
    const story = new Story();
    put(story, 'a', '5:1:93:-7').ok();
    put(story, 'b', '5:1:107:7').info();
    audit(story, ['5:1:93:-7', '5:1:107:7', null]);
    expect(checkTransfers(story.history)).toMatchObject({ valid: true, counts: { moved: 1 } });
  });

  it('cannot be judged where nobody looked at all of them, or nothing was moved', () => {
    const moved = new Story();
    put(moved, 'a', '5:1:93:-7').ok();
    put(moved, 'b', '5:1:107:7').ok();
    expectUnknown(checkTransfers(moved.history));
    const looked = new Story();
    audit(looked, [null, null, null]);
    expectUnknown(checkTransfers(looked.history));
  });

  it('are broken by an amount that is gone', () => {
    const story = new Story();
    put(story, 'a', '5:1:93:-7').ok();
    put(story, 'b', '5:1:107:7').ok();
    const seen = audit(story, ['5:1:93:-7', '5:1:106:7', null]);
    const { broken, valid } = checkTransfers(story.history);
    expect(valid).toBe(false);
    expect(broken.at(-1)?.message).toMatch(/^the accounts have 299 together, .* they must have 300$/);
    expect(broken.at(-1)?.events).toEqual(seen.map(({ seq }) => seq));
  });

  it('are broken by a look that misses what was acknowledged before', () => {
    const story = new Story();
    const first = put(story, 'a', '5:1:93:-7').ok();
    put(story, 'b', '5:1:107:7').ok();
    const [read] = audit(story, [null, '5:1:107:7', null]);
    if (read === undefined) throw new TypeError('it was read');
    expectBroken(checkTransfers(story.history), /^account a was seen without the write under token 5,/, first, read);
  });

  it('are broken by a move of which one side was overwritten', () => {
    const story = new Story();
    put(story, 'a', '5:1:93:-7').ok();
    const first = put(story, 'b', '5:1:107:7').ok();
    put(story, 'c', '6:1:96:-4').ok();
    const second = put(story, 'b', '6:1:104:4').ok();
    const { broken } = checkTransfers(story.history);
    expect(broken.map(({ message }) => message)).toEqual([
      'account b: the writes under tokens 5 and 6 were built on the same one; one of them is lost',
    ]);
    expect(broken[0]?.events).toEqual([first.seq, second.seq]);
  });
});
