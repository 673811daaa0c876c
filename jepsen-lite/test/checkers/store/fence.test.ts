import { describe, expect, it } from 'vitest';

import { checkFence } from '../../../src/checkers/store/fence.ts';
import { checkGrantedTokens } from '../../../src/checkers/store/granted-tokens.ts';
import type { StoreEvent } from '../../../src/history/history.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story } from '../../support/story.ts';

const put = (token: number, bucket = 'b') => ({ f: 'put', bucket, key: 'k', value: `${token}:1`, token }) as const;
const fence = (token: number, bucket = 'b') => ({ f: 'fence', bucket, token }) as const;
const accepted = (token: number, bucket = 'b'): StoreEvent => ({ type: 'accepted', f: 'put', bucket, token });

describe('the fence of a bucket', () => {
  it('lets tokens rise or stay, and refuses lower ones', () => {
    const story = new Story();
    story.ask(fence(5)).ok();
    story.ask(put(5)).ok();
    story.ask({ f: 'get', bucket: 'b', key: 'k', token: 5 }).ok({ value: '5:1' });
    story.ask(fence(9)).ok();
    story.ask(put(5)).fail('STALE_TOKEN', { highest: 9 });
    story.ask({ f: 'get', bucket: 'b', key: 'k', token: 7 }).fail('STALE_TOKEN', { highest: 9 });
    story.ask(put(3, 'other')).ok();
    const verdict = checkFence(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ accepted: 5, stale: 2, buckets: 2 });
  });

  it('cannot be seen in writes that overlap: the store may have done them in either order', () => {
    const story = new Story();
    const slow = story.ask(put(5));
    story.ask(put(9)).ok();
    slow.ok();
    expectValid(checkFence(story.history));
  });

  it('says nothing of the bucket without one', () => {
    const story = new Story();
    story.ask(put(9, 'unfenced')).ok();
    story.ask(put(5, 'unfenced')).ok();
    story.record(accepted(9, 'unfenced'));
    story.record(accepted(5, 'unfenced'));
    expectUnknown(checkFence(story.history));
  });

  it('is broken by a lower token after a higher one', () => {
    const story = new Story();
    const first = story.ask(fence(9)).ok();
    const second = story.ask(put(5)).ok();
    expectBroken(checkFence(story.history), /^bucket b accepted token 5 \(put\) after it had 9$/, first, second);
  });

  it('is broken by a read under a lower token than the highest that a refusal named', () => {
    const story = new Story();
    story.ask(put(9)).info();
    const refused = story.ask(put(5)).fail('STALE_TOKEN', { highest: 9 });
    const read = story.ask({ f: 'get', bucket: 'b', key: 'k', token: 5 }).ok({ value: null });
    expectBroken(checkFence(story.history), /accepted token 5 \(get\) after it had 9/, refused, read);
  });

  it('is broken by a highest token that falls', () => {
    const story = new Story();
    story.ask(fence(6)).info();
    const first = story.ask(fence(9)).ok();
    const refused = story.ask(put(5)).fail('STALE_TOKEN', { highest: 6 });
    expectBroken(checkFence(story.history), /^the highest token of bucket b fell from 9 to 6$/, first, refused);
  });

  it('is broken by a read that no longer knows the token that was installed', () => {
    const story = new Story();
    story.ask({ f: 'get', bucket: 'b', key: 'k', token: 9 }).fail('TOKEN_NOT_INSTALLED');
    const installed = story.ask(fence(9)).ok();
    const read = story.ask({ f: 'get', bucket: 'b', key: 'k', token: 9 }).fail('TOKEN_NOT_INSTALLED');
    expectBroken(
      checkFence(story.history),
      /^bucket b does not know token 9 any more, after it had 9$/,
      installed,
      read,
    );
  });

  it('is broken by a refusal of a token that is not stale', () => {
    const story = new Story();
    story.ask(fence(9)).ok();
    const refused = story.ask(put(9)).fail('STALE_TOKEN', { highest: 9 });
    expectBroken(checkFence(story.history), /refused token 9 as stale, and its highest is 9/, refused);
  });

  it('is broken by a token that nobody has brought', () => {
    const story = new Story();
    story.ask(fence(9)).ok();
    const refused = story.ask(put(5)).fail('STALE_TOKEN', { highest: 12 });
    expectBroken(checkFence(story.history), /^bucket b has token 12, which nobody has brought there$/, refused);
  });

  it("is broken by the store's own order, though callers could not see it", () => {
    const story = new Story();
    const first = story.record(accepted(9));
    story.record(accepted(4, 'other'));
    const second = story.record(accepted(5));
    expectBroken(checkFence(story.history), /^bucket b accepted token 5 after 9$/, first, second);
  });
});

describe('an accepted token', () => {
  it('was granted before, by the log or as an application was notified', () => {
    const story = new Story();
    const held = story.acquire('a', 1);
    story.ask(fence(held.token)).ok();
    story.record(accepted(held.token));
    story.ask(put(77, 'unfenced')).ok();
    story.ask(put(99)).fail('STALE_TOKEN', { highest: held.token });
    expectValid(checkGrantedTokens(story.history));
  });

  it('is none where nothing was accepted', () => {
    const story = new Story();
    story.acquire('a', 1);
    expectUnknown(checkGrantedTokens(story.history));
  });

  it('is broken where it was not, or only later', () => {
    const story = new Story();
    const done = story.ask(fence(11)).ok();
    story.acquire('a', 1);
    expectBroken(checkGrantedTokens(story.history), /^bucket b accepted token 11, which was never granted$/, done);
    const unseen = new Story();
    const event = unseen.record(accepted(4));
    expectBroken(checkGrantedTokens(unseen.history), /token 4/, event);
  });
});
