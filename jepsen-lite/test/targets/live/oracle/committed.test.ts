import { EntryType, logIndex, term, type Entry } from '@holdfast/raft';
import { describe, expect, it } from 'vitest';
import { committedOf, type KeptLog } from '../../../../src/targets/live/oracle/committed.ts';

const VOTERS = ['s1', 's2', 's3'];
const entry = (index: number, text: string, ofTerm = 1): Entry => ({
  index: logIndex(index),
  term: term(ofTerm),
  type: EntryType.command,
  data: Buffer.from(text),
});
/** `copied`: what was there before a snapshot took its place. */
const log = (host: string, contents: readonly string[], copied: readonly string[] = []): KeptLog => ({
  host,
  baseIndex: copied.length,
  entries: contents.map((text, n) => entry(copied.length + n + 1, text)),
  copied: copied.map((text, n) => entry(n + 1, text)),
});
const texts = (entries: readonly Entry[]): string[] => entries.map(({ data }) => Buffer.from(data).toString());

describe('what the logs of all servers show as committed', () => {
  it('is what a majority has', () => {
    const logs = [log('s1', ['a', 'b', 'c']), log('s2', ['a', 'b']), log('s3', ['a'])];
    const { entries, problems } = committedOf(logs, { voters: VOTERS, seen: 1 });
    expect(texts(entries)).toEqual(['a', 'b']);
    expect(problems).toEqual([]);
  });

  it('lacks an entry that a server had called committed', () => {
    const logs = [log('s1', ['a', 'b']), log('s2', ['a']), log('s3', ['a'])];
    const { problems } = committedOf(logs, { voters: VOTERS, seen: 2 });
    expect(problems).toEqual(['entry 2 was committed, and only 1 voters have it']);
  });

  it('differs from what one server has in its place', () => {
    const logs = [log('s1', ['a', 'x']), log('s2', ['a', 'b']), log('s3', ['a', 'b'])];
    const { problems } = committedOf(logs, { voters: VOTERS, seen: 2 });
    expect(problems).toEqual(["the servers' logs differ at the committed index 2"]);
  });

  it('is counted among the voters in the end, whatever servers have that were removed', () => {
    const removed = [log('s1', ['a', 'x']), log('s2', ['a', 'x'])];
    const left = [log('s3', ['a', 'b', 'c']), log('s4', ['a', 'b', 'c']), log('s5', ['a', 'b', 'c'])];
    const { entries, problems } = committedOf([...left, ...removed], { voters: ['s3', 's4', 's5'], seen: 3 });
    expect(texts(entries)).toEqual(['a', 'b', 'c']);
    expect(problems).toEqual([]);
  });
});

describe('what a majority has forgotten', () => {
  const whole = log('s3', ['a', 'b', 'c']);

  it('is what the others have', () => {
    const logs = [log('s1', ['c'], ['', '']), log('s2', ['c'], ['', '']), whole].map((each) => ({
      ...each,
      copied: [],
    }));
    const { entries, problems, onlyCopied } = committedOf(logs, { voters: VOTERS, seen: 3 });
    expect(texts(entries)).toEqual(['a', 'b', 'c']);
    expect({ problems, onlyCopied }).toEqual({ problems: [], onlyCopied: 0 });
  });

  it('comes from copies when nobody has it any more', () => {
    const logs = [log('s1', ['c'], ['a', 'b']), log('s2', ['b', 'c'], ['a']), log('s3', ['c'], ['a', 'b'])];
    const { entries, problems, onlyCopied } = committedOf(logs, { voters: VOTERS, seen: 3 });
    expect(texts(entries)).toEqual(['a', 'b', 'c']);
    expect({ problems, onlyCopied }).toEqual({ problems: [], onlyCopied: 1 });
  });

  it('is not what a server had that was overruled, and received a snapshot then', () => {
    const logs = [log('s1', ['c'], ['x', 'y']), log('s2', ['c'], ['a', 'b']), log('s3', ['c'], ['a', 'b'])];
    expect(texts(committedOf(logs, { voters: VOTERS, seen: 3 }).entries)).toEqual(['a', 'b', 'c']);
  });

  it('is of the highest term, where a server that was removed has been overruled before anybody copied more', () => {
    const overruled = { ...log('s1', []), copied: [entry(1, 'a'), entry(2, 'x'), entry(3, 'y', 2)] };
    const left = [
      { ...log('s2', []), baseIndex: 2, entries: [entry(3, 'c', 3)], copied: [entry(1, 'a'), entry(2, 'b', 3)] },
      { ...log('s3', []), baseIndex: 2, entries: [entry(3, 'c', 3)], copied: [] },
    ];
    const { entries, problems } = committedOf([overruled, ...left], { voters: ['s2', 's3'], seen: 3 });
    expect(texts(entries)).toEqual(['a', 'b', 'c']);
    expect(problems).toEqual([]);
  });

  it('is unknown when nobody has it and nothing was copied', () => {
    const logs = VOTERS.map((host) => ({ ...log(host, ['b'], ['']), copied: [] }));
    const { entries, problems, cut } = committedOf(logs, { voters: VOTERS, seen: 2 });
    expect(entries).toEqual([]);
    expect(problems).toEqual([]);
    expect(cut).toBe('entry 1 is in snapshots only, and was not copied before');
  });

  it('must be on a majority, though a server called it committed by its snapshot alone', () => {
    const logs = [log('s1', [], ['a', 'b']), log('s2', ['a']), log('s3', ['a'])];
    const { problems } = committedOf(logs, { voters: VOTERS, seen: 0 });
    expect(problems).toEqual(['entry 2 was committed, and only 1 voters have it']);
  });
});
