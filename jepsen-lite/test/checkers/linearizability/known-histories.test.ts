import { describe, expect, it } from 'vitest';

import {
  checkLinearizable,
  type LinearizableOptions,
  type Result,
} from '../../../src/checkers/linearizability/linearizable.ts';
import { renderResult } from '../../../src/check/report.ts';
import { pairEvents, type OperationEvent, type Value } from '../../../src/history/operations/operation.ts';
import type { ModelName } from '../../../src/models/index.ts';
import { modelOf } from '../../support/random-operations.ts';

/** `1 invoke read`, `1 ok read 4`: process, type, operation, value as JSON. */
function events(lines: readonly string[]): OperationEvent[] {
  return lines.map((text, place) => {
    const [process = '', type = '', f = '', ...value] = text.split(' ');
    return {
      line: place + 1,
      process,
      type: type as OperationEvent['type'],
      f,
      value: (value.length === 0 ? null : JSON.parse(value.join(' '))) as Value,
    };
  });
}

function check(model: ModelName, lines: readonly string[], options?: LinearizableOptions): Result {
  return checkLinearizable(pairEvents(events(lines)), modelOf(model), options);
}

/** A call and its answer, with nothing between them. */
function done(process: number, f: string, input = '', output = input): string[] {
  return [`${process} invoke ${f} ${input}`.trim(), `${process} ok ${f} ${output}`.trim()];
}

const STALE_READ = [...done(1, 'write', '1'), ...done(1, 'write', '2'), ...done(2, 'read', '', '1')];

describe('a known history', () => {
  it.each<[string, ModelName, string[], Result['type']]>([
    ['a stale read', 'register', STALE_READ, 'invalid'],
    [
      'a read beside the write that it has yet to see',
      'register',
      [...done(1, 'write', '1'), '1 invoke write 2', ...done(2, 'read', '', '1'), '1 ok write'],
      'valid',
    ],
    [
      'two reads of which the later one goes back',
      'register',
      [
        ...done(1, 'write', '1'),
        '1 invoke write 2',
        ...done(2, 'read', '', '2'),
        ...done(3, 'read', '', '1'),
        '1 ok write',
      ],
      'invalid',
    ],
    [
      'a write of unknown outcome that is seen much later',
      'register',
      ['1 invoke write 1', '1 info write', ...done(2, 'read', '', 'null'), ...done(2, 'read', '', '1')],
      'valid',
    ],
    [
      'a failed write that is seen',
      'register',
      ['1 invoke write 1', '1 fail write', ...done(2, 'read', '', '1')],
      'invalid',
    ],
    [
      'a lost update',
      'cas-register',
      [...done(1, 'write', '0'), ...done(1, 'cas', '[0,1]'), ...done(2, 'cas', '[0,2]')],
      'invalid',
    ],
    ['a refusal that lies', 'cas-register', [...done(1, 'write', '0'), ...done(2, 'cas', '[0,1]', 'false')], 'invalid'],
    ['two holders', 'mutex', [...done(1, 'acquire'), ...done(2, 'acquire')], 'invalid'],
    ['a release by another', 'mutex', [...done(1, 'acquire'), ...done(2, 'release')], 'invalid'],
    [
      'a holder whose session expired',
      'mutex',
      [...done(1, 'acquire'), ...done(9, 'expire', '1'), ...done(2, 'acquire')],
      'valid',
    ],
    [
      'a release after the own session expired',
      'mutex',
      [...done(1, 'acquire'), ...done(9, 'expire', '1'), ...done(1, 'release')],
      'invalid',
    ],
    [
      'a token that does not rise',
      'fenced-mutex',
      [...done(1, 'acquire', '', '5'), ...done(1, 'release'), ...done(2, 'acquire', '', '5')],
      'invalid',
    ],
    [
      'a token with no room for the unknown one before it',
      'fenced-mutex',
      [
        ...done(1, 'acquire', '', '5'),
        ...done(1, 'release'),
        ...done(1, 'acquire'),
        ...done(1, 'release'),
        ...done(2, 'acquire', '', '6'),
      ],
      'invalid',
    ],
    [
      'a release that names another token',
      'fenced-mutex',
      [...done(1, 'acquire', '', '5'), ...done(1, 'release', '{"token":4}')],
      'invalid',
    ],
    [
      'one acquire above the limit',
      'reentrant-mutex',
      [1, 1, 1].flatMap((process) => done(process, 'acquire')),
      'invalid',
    ],
    [
      'a hold whose token changes',
      'reentrant-mutex',
      [...done(1, 'acquire', '', '{"fence":5}'), ...done(1, 'acquire', '', '{"fence":6}')],
      'invalid',
    ],
    ['a writer beside a reader', 'rw-mutex', [...done(1, 'acquire-read'), ...done(2, 'acquire-write')], 'invalid'],
    [
      'an acquire of unknown outcome that a status alone shows',
      'fenced-mutex',
      ['1 invoke acquire', '1 info acquire', ...done(2, 'status', '', '{"client":"1","token":5}')],
      'valid',
    ],
    ['two readers', 'rw-mutex', [...done(1, 'acquire-read'), ...done(2, 'acquire-read')], 'valid'],
    ['a permit too many', 'semaphore', [...done(1, 'acquire', '2'), ...done(2, 'acquire', '2')], 'invalid'],
    [
      'permits of an expired session',
      'semaphore',
      [...done(1, 'acquire', '3'), ...done(1, 'expire'), ...done(2, 'acquire', '2')],
      'valid',
    ],
    [
      'a lost append',
      'list-append',
      [...done(1, 'append', '1'), ...done(2, 'append', '2'), ...done(1, 'read', '', '[2]')],
      'invalid',
    ],
    [
      'a list as transactions',
      'list-append',
      [
        ...done(1, 'txn', '[["append",8,1]]'),
        ...done(2, 'txn', '[["r",8,null]]', '[["r",8,[1]]]'),
        ...done(2, 'txn', '[["r",9,null]]', '[["r",9,[]]]'),
      ],
      'valid',
    ],
    [
      'appends in another order',
      'kv',
      [...done(1, 'append', '"a"'), ...done(1, 'append', '"b"'), ...done(2, 'get', '', '"ba"')],
      'invalid',
    ],
  ])('().operations) is judged as it should be', (_, model, lines, type) => {
    expect(check(model, lines).type).toBe(type);
  });

  it('that is invalid is described in words', () => {
    const text = renderResult(check('register', STALE_READ), modelOf('register'));
    expect(text).toContain('cannot be linearized: line 5: process 2 read 1');
    expect(text).toContain('the state was then:   2');
    expect(text).toContain('the longest prefix has 2 of 3 returns');
  });
});

describe('a history that cannot be judged', () => {
  it.each<[string, string[]]>([
    ['is empty', []],
    ['has nothing that succeeded', ['1 invoke write 1', '1 info write', '2 invoke read', '2 fail read']],
  ])('is unknown since it ).operations', (_, lines) => {
    const result = check('register', lines);
    expect(result).toMatchObject({ type: 'unknown', reason: { type: 'nothing-succeeded' } });
    expect(renderResult(result, modelOf('register'))).toMatch(/^unknown\n {2}nothing in this history succeeded/);
  });

  const maybe = Array.from({ length: 14 }, (_, n) => [`${n} invoke write ${n}`, `${n} info write`]).flat();
  // A refusal may have seen any of them.
  const hard = [...maybe, ...done(98, 'cas', '[98,0]', 'false'), ...done(99, 'read', '', '77')];

  it.each([
    ['configurations', { limits: { configurations: 500 } }, /the configurations are used up \(--configurations 500\)/],
    ['bytes', { limits: { bytes: 1_000 } }, /the memory is used up/],
    [
      'ms',
      { limits: { ms: 0 }, nowMs: risingClock() },
      /the time is over \(--seconds 0\): the search explained 1 of 2 returns/,
    ],
  ])('is unknown when its budget of ).operations is used', (budget, options, text) => {
    const result = check('cas-register', hard, options);
    expect(result).toMatchObject({ type: 'unknown', reason: { type: 'exhausted', budget } });
    expect(renderResult(result, modelOf('cas-register'), options.limits)).toMatch(text);
  });

  it('does not hide another object that is broken', () => {
    const broken = STALE_READ.map((text) => text.replace(/^(\d)/, '20$1'));
    const keyed = [
      ...events(hard).map((event) => ({ ...event, key: 'hard' })),
      ...events(broken).map((event) => ({ ...event, key: 'broken' })),
    ];
    const result = checkLinearizable(pairEvents(keyed), modelOf('cas-register'), {
      limits: { configurations: 30_000 },
    });
    expect(result).toMatchObject({ type: 'invalid', key: 'broken' });
  });
});

describe('a long history', () => {
  it('of 20 clients is judged in a few configurations a call', () => {
    const lines: string[] = [];
    for (let n = 0; n < 20_000; n += 20) {
      // Five write and fifteen read at once; the write that all see is another one each time.
      const seen = n + ((n / 20) % 5);
      const all = Array.from({ length: 20 }, (_, process) => process);
      lines.push(...all.map((process) => `${process} invoke ${process < 5 ? `write ${n + process}` : 'read'}`));
      lines.push(...all.map((process) => `${process} ok ${process < 5 ? 'write' : `read ${seen}`}`));
      lines.push(...done(0, 'read', '', String(seen)));
    }
    const result = check('register', lines);
    expect(result.type).toBe('valid');
    expect(result.configurations).toBeLessThan(200_000);
  });
});

function risingClock(): () => number {
  let now = 0;
  return () => (now += 1);
}
