import type { LockRequest } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import { checkSharedReads } from '../../../src/checkers/store/shared-reads.ts';
import type { HistoryEvent } from '../../../src/history/history.ts';
import { expectBroken, expectUnknown, expectValid } from '../../support/expect-verdict.ts';
import { Story, type ReportedHold } from '../../support/story.ts';

const READ: LockRequest = { type: 'readWrite', write: false };
const WRITE: LockRequest = { type: 'readWrite', write: true };

function install(story: Story, { lock, token, session }: ReportedHold): void {
  story.ask({ f: 'fence', bucket: lock, token }, `c${session}`).ok();
}

function look(story: Story, { lock, hold, session }: ReportedHold, value: string | null): HistoryEvent {
  return story.ask({ f: 'get', bucket: lock, key: 'n', hold }, `c${session}`).ok({ value });
}

describe('what is read under a lock', () => {
  it('stays as it is for all who read together', () => {
    const story = new Story();
    const [first, second] = [story.acquire('a', 1, READ), story.acquire('a', 2, READ)];
    install(story, first);
    install(story, second);
    for (const hold of [first, second, first, second]) look(story, hold, '5:1');
    story.believe(first);
    story.believe(second);
    const verdict = checkSharedReads(story.history);
    expectValid(verdict);
    expect(verdict.counts).toMatchObject({ reads: 4, sections: 2, together: 1, downgraded: 0 });
  });

  it('stays as it was written by who went on reading', () => {
    const story = new Story();
    const writer = story.acquire('a', 1, WRITE);
    install(story, writer);
    story.ask({ f: 'put', bucket: 'a', key: 'n', value: '11:1', token: writer.token }).ok();
    story.downgrade(writer);
    look(story, writer, '11:1');
    look(story, writer, '11:1');
    story.believe(writer);
    expect(checkSharedReads(story.history)).toMatchObject({ valid: true, counts: { sections: 1, downgraded: 1 } });
  });

  it('may change when its reader does not know that it holds the lock still', () => {
    const story = new Story();
    const reader = story.acquire('a', 1, READ);
    install(story, reader);
    look(story, reader, '5:1');
    story.believe(reader);
    look(story, reader, '20:2');
    expectUnknown(checkSharedReads(story.history));
  });

  it('may change as long as the store has no token of its reader, and by a write of which nobody knows when', () => {
    const unfenced = new Story();
    const reader = unfenced.acquire('a', 1, READ);
    look(unfenced, reader, '5:1');
    install(unfenced, reader);
    look(unfenced, reader, '9:2');
    unfenced.believe(reader);
    expectUnknown(checkSharedReads(unfenced.history));
    const doubtful = new Story();
    const writer = doubtful.acquire('a', 1, WRITE);
    install(doubtful, writer);
    doubtful.ask({ f: 'put', bucket: 'a', key: 'n', value: '11:1', token: writer.token }).info();
    doubtful.downgrade(writer);
    look(doubtful, writer, '5:1');
    look(doubtful, writer, '11:1');
    doubtful.believe(writer);
    expectUnknown(checkSharedReads(doubtful.history));
  });

  it('is protected by a higher token of somebody else, too', () => {
    const story = new Story();
    const [first, second] = [story.acquire('a', 1, READ), story.acquire('a', 2, READ)];
    install(story, second);
    story.ask({ f: 'fence', bucket: 'a', token: first.token }).fail('STALE_TOKEN', { highest: second.token });
    look(story, first, '5:1');
    look(story, first, '5:1');
    story.believe(first);
    expect(checkSharedReads(story.history)).toMatchObject({ valid: true, counts: { sections: 1 } });
  });

  it('is broken by a write in between', () => {
    const story = new Story();
    const reader = story.acquire('a', 1, READ);
    install(story, reader);
    const first = look(story, reader, '5:1');
    const second = look(story, reader, '20:2');
    const believed = story.believe(reader);
    expectBroken(
      checkSharedReads(story.history),
      /^a\/n was "5:1" and then "20:2" while session 1 held the lock \(token 11\) and wrote nothing$/,
      first,
      second,
      believed,
    );
  });
});
