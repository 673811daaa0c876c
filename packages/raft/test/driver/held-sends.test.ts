import { describe, expect, it } from 'vitest';
import { logIndex, serverId, term, type WriteSeq } from '../../src/core/index.ts';
import { HeldSends } from '../../src/driver/held-sends.ts';

const seq = (number: number) => number as WriteSeq;

function scene() {
  const sent: string[] = [];
  const held = new HeldSends((to, message) => {
    if (message.type === 'commit') sent.push(`${to}:${message.commit}`);
  });
  const hold = (to: number, commit: number, after: number): void =>
    held.hold(serverId(to), { type: 'commit', term: term(1), commit: logIndex(commit) }, seq(after));
  return { sent, held, hold };
}

describe('a message that reveals a write', () => {
  it('stays while that write is not durable, and leaves when it is', () => {
    const { sent, held, hold } = scene();
    hold(2, 10, 2);
    held.release();
    held.persisted(seq(1));
    expect(sent).toEqual([]);
    held.persisted(seq(2));
    expect(sent).toEqual(['2:10']);
  });

  it('leaves with a later write, which is after its own', () => {
    const { sent, held, hold } = scene();
    hold(2, 10, 2);
    held.persisted(seq(5));
    expect(sent).toEqual(['2:10']);
  });

  it('leaves at the next release when the write is durable already', () => {
    const { sent, held, hold } = scene();
    held.persisted(seq(3));
    hold(2, 10, 3);
    expect(sent).toEqual([]);
    held.release();
    expect(sent).toEqual(['2:10']);
  });

  it('leaves once, in the order of the core, and lets those behind it stay', () => {
    const { sent, held, hold } = scene();
    hold(2, 10, 1);
    hold(3, 20, 2);
    hold(2, 11, 1);
    held.persisted(seq(1));
    expect(sent).toEqual(['2:10', '2:11']);
    held.persisted(seq(2));
    held.persisted(seq(3));
    expect(sent).toEqual(['2:10', '2:11', '3:20']);
  });
});
