import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MAX_MESSAGE_LENGTH, MalformedError, pack, unpackTuple, type Packable, type Reply } from '../../src/index.ts';
import { replies } from '../../src/messages/reply.ts';
import { reply } from '../support/arbitraries.ts';

function decode(tuple: Packable): Reply {
  return replies.readTuple(unpackTuple(pack(tuple), 'reply'));
}

describe('a reply', () => {
  it('comes back as it went', () => {
    fc.assert(
      fc.property(reply, (value) => {
        expect(decode(replies.writeTuple(value))).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it('may have fields of a later version at its end', () => {
    fc.assert(
      fc.property(reply, (value) => {
        // It ends where its one optional field may begin.
        fc.pre(value.type !== 'acquire' || value.floor !== undefined);
        expect(decode([...replies.writeTuple(value), 'new', [1, [true]]])).toEqual(value);
      }),
    );
  });

  it('keeps its number', () => {
    const stat = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
    const tuples: Packable[] = [
      [0, 1, 'gone'],
      [1],
      [2, '/a', stat],
      [3, stat],
      [4, 7, 8],
      [5, [1, 'label', 2, 3]],
      [6, 9],
      [7, 1, 2, 3, 4, [['a', 5, 6]]],
      [8, 1, [0, 2, 3]],
      [9, 1, 3, 'another version'],
      [10, 60],
      [4, 7, 8, 6],
      [11, [[1, 'label', 'a', 2, 'b', 3, 4, 0]]],
    ];
    const names =
      'error done created changed acquire lockHeld cancelled attached transaction transactionFailed revoked';
    const types = [...names.split(' '), 'acquire', 'deadlock'];
    expect(tuples.map((tuple) => decode(tuple).type)).toEqual(types);
    for (const tuple of tuples) expect(replies.writeTuple(decode(tuple))).toEqual(tuple);
  });

  it('tells an error whose code is of a later version, and promises nothing about it', () => {
    expect(decode([0, 9_999, 'what it says'])).toEqual({ type: 'error', code: 'UNSUPPORTED', message: 'what it says' });
  });

  it('cuts what an error says at its limit, within a surrogate pair, too', () => {
    const message = `${'x'.repeat(MAX_MESSAGE_LENGTH - 1)}\u{1f512} and more`;
    const cut = decode(replies.writeTuple({ type: 'error', code: 'MALFORMED', message }));
    expect(cut).toEqual({ type: 'error', code: 'MALFORMED', message: `${'x'.repeat(MAX_MESSAGE_LENGTH - 1)}\ufffd` });
  });

  it.each<[string, Packable]>([
    ['type 12 is unknown', [12]],
    ['reply.results.result must be', [8, 1, [0, -1]]],
    ['reply.operation must be', [9, -1, 1, '']],
    ['reply.type must be present', []],
    ['reply.code must be', [0, '1', '']],
    ['reply.message must be', [0, 1, 'x'.repeat(MAX_MESSAGE_LENGTH + 1)]],
    ['reply.stat is not a tuple', [2, '/a', 1]],
    ['reply.stat.czxid must be', [3, ['1']]],
    ['reply.holder.label must be', [5, [1, 'x'.repeat(257), 2, 3]]],
    ['reply.acquires[].token must be', [7, 1, 2, 3, 4, [['a', 5, -1]]]],
    ['reply.acquires[] is not a tuple', [7, 1, 2, 3, 4, ['a']]],
  ])('is refused: %s', (problem, tuple) => {
    expect(() => decode(tuple)).toThrow(MalformedError);
    expect(() => decode(tuple)).toThrow(problem);
  });
});
