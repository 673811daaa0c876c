import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { HistoryFormatError } from '../../src/history/json-line.ts';
import { decodeHistory, encodeHistory, historyChunks } from '../../src/history/json-lines.ts';
import { RandomWorld } from '../support/random-world.ts';
import { GroupStory } from '../support/group/group-story.ts';
import { Story } from '../support/story.ts';

function sample(): Story {
  const story = new Story();
  const held = story.acquire('accounts/42', 7);
  story.believe(held);
  story.release(held);
  story.quiet();
  return story;
}

/** The text of a proper history in which line `line` (from 1) is changed. */
function withLine(line: number, change: (text: string) => string): string {
  const lines = encodeHistory(sample().history).split('\n');
  lines[line - 1] = change(lines[line - 1] ?? '');
  return lines.join('\n');
}

function problem(text: string): { readonly line: number; readonly message: string } {
  try {
    decodeHistory(text);
  } catch (error) {
    if (error instanceof HistoryFormatError) return error;
    throw error;
  }
  throw new Error('the history was read without complaint');
}

describe('a history on disk', () => {
  it('is read as it was written, whatever happened in it', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 400 }), (seed, steps) => {
        const history = new RandomWorld(seed, steps).run();
        expect(decodeHistory(encodeHistory(history))).toEqual(history);
      }),
      { numRuns: 40 },
    );
  });

  it('keeps happenings that the random world does not have', () => {
    const story = sample();
    story.record({ type: 'fault', fault: 'cut s1 from s2', phase: 'begin' }, 'nemesis');
    story.record({ type: 'fault', fault: 'pause', phase: 'begin', hosts: 's1' }, 'harness');
    story.record({ type: 'leadership', phase: 'begin', term: 3 }, 's2');
    story.record({ type: 'session', event: 'closed', session: 7 });
    const group = new GroupStory();
    group.configured(3, 'r1', ['r1', 'r2']);
    const { revision } = group.put('a', 3);
    group.get('a', revision, 3);
    group.putting('b', 'c1', { revision, value: 'a' }).fail('PRECONDITION_FAILED');
    group.delete(3);
    group.kept('r1', 'a');
    expect(decodeHistory(encodeHistory(group.history))).toEqual(group.history);
    expect(decodeHistory(encodeHistory(story.history))).toEqual(story.history);
  });

  it('is read from bytes, and written piece by piece', () => {
    const history = Array.from({ length: 25_001 }, (_each, n) => {
      return { seq: n + 1, timeMs: n, process: 'c1', type: 'renewed', session: 7, sentMs: n } as const;
    });
    const chunks = [...historyChunks(history)];
    expect(chunks.length).toBeGreaterThan(3);
    expect(decodeHistory(Buffer.from(chunks.join('')))).toEqual(history);
    expect(() => decodeHistory(Buffer.from(chunks.slice(0, -1).join('')))).toThrow('the file was cut');
  });

  it('of no events is a history, too', () => {
    expect(decodeHistory(encodeHistory([]))).toEqual([]);
  });
});

describe('a damaged history', () => {
  it.each([
    ['a line that is not JSON', withLine(3, (line) => line.slice(1)), 3, /not JSON/],
    ['a line that is not an object', withLine(3, () => '[1]'), 3, /\[1\] is not an object/],
    [
      'a field of another type',
      withLine(3, (line) => line.replace('"index":11', '"index":"11"')),
      3,
      /"index" of "enqueued" is "11", not a whole number/,
    ],
    [
      'a number beyond 2^53',
      withLine(3, (line) => line.replace('"index":11', '"index":9007199254740993')),
      3,
      /"index" of "enqueued"/,
    ],
    [
      'a field that is missing',
      withLine(5, (line) => line.replace('"token":11,', '')),
      5,
      /"ok acquire" lacks "token"/,
    ],
    [
      'a field that nobody knows',
      withLine(5, (line) => line.replace('{', '{"colour":1,')),
      5,
      /"ok acquire" has no field "colour"/,
    ],
    [
      'a kind of event that nobody knows',
      withLine(5, (line) => line.replace('"ok"', '"maybe"')),
      5,
      /no kind of event is called "maybe acquire"/,
    ],
    [
      'a word that is not one of its field',
      withLine(8, (line) => line.replace('released', 'dropped')),
      8,
      /"reason" of "removed" is "dropped", not one of "released"/,
    ],
    [
      'an operation of a transaction that is none',
      withTransaction('"op":"check"', '"op":"peek"'),
      2,
      /"operations" of "invoke transaction" is .*, not a list of operations of a transaction/,
    ],
    [
      'an operation with a field too many',
      withTransaction('"version":0', '"version":0,"value":"x"'),
      2,
      /"operations"/,
    ],
    ['an operation without its path', withTransaction('"path":"/a",', ''), 2, /"operations"/],
    [
      'a result that is none',
      withTransaction('"results":[null]', '"results":[[]]'),
      3,
      /"results" of "ok transaction"/,
    ],
    [
      'a request for a lock that is none',
      withAsked('"write":true', '"write":"yes"'),
      2,
      /"asked" of "invoke acquire" is .*, not what can be asked of a lock/,
    ],
    ['a request for a kind of lock that nobody knows', withAsked('"readWrite"', '"spin"'), 2, /"asked"/],
    ['a request for a lock with a field too many', withAsked('"write":true', '"write":true,"permits":1'), 2, /"asked"/],
    ['lines in another order', swapLines(4, 5), 5, /"seq" is 3 after 4; lines were moved or repeated/],
    ['a line that is missing', withoutLine(6), 10, /the file has 8 events, and had 9; lines are missing/],
  ])('with %s is refused, with its line', (_, text, line, message) => {
    const found = problem(text);
    expect(found.message).toMatch(message);
    expect(found.line).toBe(line);
  });

  it('that was cut within a line says so', () => {
    const text = encodeHistory(sample().history);
    expect(problem(text.slice(0, -3)).message).toMatch(/line 11: the file ends within a line; it was cut/);
  });

  it('that was cut between lines says so', () => {
    const lines = encodeHistory(sample().history).split('\n');
    expect(problem(`${lines.slice(0, 4).join('\n')}\n`)).toMatchObject({
      line: 4,
      message: expect.stringMatching(/the last line, which gives the number of events, is missing/),
    });
    expect(problem(`${lines[0] ?? ''}\n`).message).toMatch(/is missing; the file was cut/);
  });

  it('is refused whichever byte was altered, or is a history still', () => {
    const text = encodeHistory(sample().history);
    fc.assert(
      fc.property(fc.nat({ max: text.length - 1 }), fc.string({ minLength: 0, maxLength: 2 }), (position, instead) => {
        const damaged = text.slice(0, position) + instead + text.slice(position + 1);
        try {
          const events = decodeHistory(damaged);
          expect(decodeHistory(encodeHistory(events))).toEqual(events);
        } catch (error) {
          expect(error).toBeInstanceOf(HistoryFormatError);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('a file that is no history', () => {
  it('is refused in its first line', () => {
    expect(problem('{"hello":1}\n')).toMatchObject({ line: 1, message: expect.stringMatching(/not a history/) });
    expect(problem('').message).toMatch(/line 1/);
  });

  it('of another version says which one is read', () => {
    const text = withLine(1, (line) => line.replace('"version":1', '"version":2'));
    expect(problem(text).message).toBe(
      'history, line 1: the history has version 2, this program reads 1; use the one that recorded it',
    );
  });
});

function withTransaction(find: string, replace: string): string {
  const story = new Story();
  const operations = [{ op: 'check', path: '/a', version: 0 }] as const;
  story.ask({ f: 'transaction', operations }).ok({ index: 5, results: [null] });
  return encodeHistory(story.history).replace(find, replace);
}

function withAsked(find: string, replace: string): string {
  const story = new Story();
  story.ask({ f: 'acquire', lock: 'a', session: 1, asked: { type: 'readWrite', write: true } });
  return encodeHistory(story.history).replace(find, replace);
}

function swapLines(one: number, other: number): string {
  const lines = encodeHistory(sample().history).split('\n');
  const first = lines[one - 1] ?? '';
  const second = lines[other - 1] ?? '';
  lines[one - 1] = second;
  lines[other - 1] = first;
  return lines.join('\n');
}

function withoutLine(line: number): string {
  const lines = encodeHistory(sample().history).split('\n');
  lines.splice(line - 1, 1);
  return lines.join('\n');
}
