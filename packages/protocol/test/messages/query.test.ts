import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  CONSISTENCIES,
  MAX_PAGE_ENTRIES,
  MalformedError,
  pack,
  unpackTuple,
  type Answer,
  type Packable,
  type Query,
} from '../../src/index.ts';
import { answers, queries } from '../../src/messages/query.ts';
import { answer, query } from '../support/arbitraries.ts';

function decodeQuery(tuple: Packable): Query {
  return queries.readTuple(unpackTuple(pack(tuple), 'query'));
}

function decodeAnswer(tuple: Packable): Answer {
  return answers.readTuple(unpackTuple(pack(tuple), 'answer'));
}

function plain(value: Answer): unknown {
  return value.type === 'get' ? { ...value, data: [...value.data] } : value;
}

const stat = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

describe('a query', () => {
  it('comes back as it went, fields of a later version left out', () => {
    fc.assert(
      fc.property(query, (value) => {
        expect(decodeQuery(queries.writeTuple(value))).toEqual(value);
        expect(decodeQuery([...queries.writeTuple(value), [['new']]])).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it('keeps its number', () => {
    const tuples: Packable[] = [
      [1, '/a'],
      [2, '/a'],
      [3, '/a'],
      [4, 'a', 7],
      [5, 'a', 'ab', 10],
      [6, 'a'],
      [7, 8, 9],
      [8, '/a', 'b', 9],
      [9, '/a'],
      [10, 8, 9],
      [11, 'a', 7],
    ];
    const types = 'get exists children verify locks lock sessions childrenPage descendants deadlocks waitingFor'.split(
      ' ',
    );
    expect(tuples.map((tuple) => decodeQuery(tuple).type)).toEqual(types);
    for (const tuple of tuples) expect(queries.writeTuple(decodeQuery(tuple))).toEqual(tuple);
    expect(CONSISTENCIES).toEqual(['linearizable', 'session', 'local']);
  });

  it('gets at least one entry in a page, and no more than a page holds', () => {
    expect(decodeQuery([7, 0, 0])).toEqual({ type: 'sessions', after: 0, limit: 1 });
    expect(decodeQuery([5, '', '', 1e9])).toEqual({ type: 'locks', prefix: '', after: '', limit: MAX_PAGE_ENTRIES });
  });

  it.each<[string, Packable]>([
    ['type 12 is unknown', [12]],
    ['type 0 is unknown', [0]],
    ['query.path must be', [1, 5]],
    ['query.path must be at most', [1, 'x'.repeat(4_097)]],
    ['query.acquireIndex must be present', [4, 'a']],
    ['query.limit must be', [7, 0, -1]],
    ['query.after must be', [7, '', 1]],
  ])('is refused: %s', (problem, tuple) => {
    expect(() => decodeQuery(tuple)).toThrow(MalformedError);
    expect(() => decodeQuery(tuple)).toThrow(problem);
  });
});

describe('an answer', () => {
  it('comes back as it went', () => {
    fc.assert(
      fc.property(answer, (value) => {
        expect(plain(decodeAnswer(answers.writeTuple(value)))).toEqual(plain(value));
      }),
      { numRuns: 500 },
    );
  });

  it('may have fields of a later version at its end', () => {
    fc.assert(
      fc.property(answer, (value) => {
        // These end where their one optional field may begin.
        fc.pre(value.type !== 'exists' || value.stat !== undefined);
        fc.pre(value.type !== 'get' || value.traits !== undefined);
        fc.pre(value.type !== 'lock' || value.delay !== undefined);
        expect(plain(decodeAnswer([...answers.writeTuple(value), [['new']]]))).toEqual(plain(value));
      }),
    );
  });

  it('keeps its number', () => {
    const entry = [1, 'label', 2, 3, 4, 5, [true], 0, false];
    const delayed = [1, 'label', 2, 3, 4, 5, [true], 5_000, true];
    const asked = [...entry, [6, 7, 30_000, true, 'operator']];
    const step = [1, 'label', 'a', 2, 'b', 3, 4, 0];
    const tuples: Packable[] = [
      [0, 15, 'none'],
      [1, Uint8Array.of(1), stat, [false, true, 7]],
      [2, stat],
      [3, ['a', 'b'], stat],
      [4, 9],
      [5, [['a', [entry], 6, 7]], true],
      [6, [entry], false, 0],
      [7, [[1, 'label', 2, 3, 4, 5, 6]], true],
      [8, ['a', 'b'], true, stat],
      [9, 12],
      [5, [['a', [entry], 6, 7, [8, 5_000, 9, 2]]], true],
      [6, [delayed], false, 0, [8, 5_000, 9, 2]],
      [10, [[[step, step]]], false, 0],
      [11, [asked], 3, 7, [step]],
    ];
    const names = 'error get exists children verify locks lock sessions childrenPage descendants';
    const types = [...names.split(' '), 'locks', 'lock', 'deadlocks', 'waitingFor'];
    expect(tuples.map((tuple) => decodeAnswer(tuple).type)).toEqual(types);
    for (const tuple of tuples) expect(pack(answers.writeTuple(decodeAnswer(tuple)))).toEqual(pack(tuple));
  });

  it('tells an error whose code is of a later version', () => {
    expect(decodeAnswer([0, 9_999, 'text'])).toEqual({ type: 'error', code: 'UNSUPPORTED', message: 'text' });
  });

  it.each<[string, Packable]>([
    ['type 12 is unknown', [12]],
    ['answer.deadlocks[].steps[].since must be', [10, [[[[1, '', 'a', 2, 'b', 3, -4, 0]]]], true, 0]],
    ['answer.data must be', [1, 'text', stat]],
    ['answer.stat is not a tuple', [2, 1]],
    ['answer.names.name must be', [3, ['a', 1], stat]],
    ['answer.names is not a tuple', [3, 'a', stat]],
    ['answer.locks[].holders[].since must be', [5, [['a', [[1, '', 2, 3, -4, 5]], 6]], true]],
    ['answer.more must be', [7, [], 1]],
  ])('is refused: %s', (problem, tuple) => {
    expect(() => decodeAnswer(tuple)).toThrow(MalformedError);
    expect(() => decodeAnswer(tuple)).toThrow(problem);
  });
});
