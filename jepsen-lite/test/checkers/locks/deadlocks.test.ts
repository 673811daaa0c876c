import { describe, expect, it } from 'vitest';

import { checkDeadlocks } from '../../../src/checkers/locks/waiting/deadlocks.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type ReportedHold } from '../../support/story.ts';

/** Each session has the lock of its number. */
function crossed(...sessions: readonly number[]): { readonly story: Story; readonly held: readonly ReportedHold[] } {
  const story = new Story();
  return { story, held: sessions.map((session) => story.acquire(`${session}-crossed`, session)) };
}

describe('deadlocks', () => {
  it('are none where every wait that would close one has ended by that very entry', () => {
    const { story } = crossed(1, 2);
    const first = story.ask({ f: 'acquire', lock: '2-crossed', session: 1 });
    const ended = story.enqueue('2-crossed', 1);
    const second = story.ask({ f: 'acquire', lock: '1-crossed', session: 2 });
    const { index } = story.enqueue('1-crossed', 2);
    story.remove(ended, 'deadlock', index);
    first.fail('DEADLOCK');
    second.fail('TIMEOUT');
    const verdict = checkDeadlocks(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ waits: 2, ended: 1, told: 1 });
  });

  it('are none where a session waits once more for what it holds, or holds nothing', () => {
    const { story } = crossed(1, 2);
    story.enqueue('1-crossed', 1);
    story.enqueue('1-crossed', 3);
    story.enqueue('1-crossed', 2);
    expectValid(checkDeadlocks(story.history));
  });

  it('are not looked for at other locks, and not judged where nobody waits', () => {
    const story = new Story();
    story.acquire('a', 1);
    story.acquire('b', 2);
    story.enqueue('b', 1);
    story.enqueue('a', 2);
    expectUnknown(checkDeadlocks(story.history));
    expectUnknown(checkDeadlocks(crossed(1, 2).story.history));
  });
});

describe('deadlocks are broken by', () => {
  it('a ring that an entry leaves', () => {
    const { story, held } = crossed(1, 2, 3);
    const waits = [1, 2, 3].map((session) => story.enqueue(`${(session % 3) + 1}-crossed`, session));
    const all = [...held.map(({ granted }) => granted), ...waits];
    expectBroken(checkDeadlocks(story.history), /^behind entry 16 there is a deadlock: session/, ...all);
  });

  it('a ring beside which others wait', () => {
    const { story, held } = crossed(1, 2);
    const [first, second] = held;
    const before = story.enqueue('1-crossed', 2);
    story.enqueue('1-crossed', 3);
    expectValid(checkDeadlocks(story.history));
    const closing = story.enqueue('2-crossed', 1);
    const shown = [first, second].flatMap((each) => (each === undefined ? [] : [each.granted]));
    expectBroken(checkDeadlocks(story.history), /session 1 holds 1-crossed/, ...shown, before, closing);
  });

  it('a ring that is closed by a grant', () => {
    const { story, held } = crossed(1, 2);
    const [first] = held;
    if (first === undefined) throw new TypeError('it is held');
    const next = story.enqueue('1-crossed', 3);
    story.enqueue('1-crossed', 2);
    const closing = story.enqueue('2-crossed', 3);
    expectValid(checkDeadlocks(story.history));
    const { index } = story.remove(first, 'released');
    const granted = story.grant('1-crossed', 3, next.hold, index);
    const { broken } = checkDeadlocks(story.history);
    expect(broken).toHaveLength(1);
    expect(broken[0]?.message).toContain(`behind entry ${index} there is a deadlock`);
    expect(broken[0]?.events).toContain(granted.seq);
    expect(broken[0]?.events).toContain(closing.seq);
  });

  it('a wait that ends so, though its session holds nothing that is waited for', () => {
    const { story } = crossed(1);
    const waits = story.enqueue('1-crossed', 2);
    const gone = story.remove(waits, 'deadlock');
    expectBroken(checkDeadlocks(story.history), /^session 2 lost lock 1-crossed .* though nobody/, waits, gone);
  });
});
