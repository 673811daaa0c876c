import { describe, expect, it } from 'vitest';

import { HistoryFormatError } from '../../../src/history/json-line.ts';
import { readOperations, type ReadOptions } from '../../../src/history/operations/read.ts';

const LOG = `INFO  jepsen.core - Running test
INFO  jepsen.util - 0\t:invoke\t:read\tnil
INFO  jepsen.util - :nemesis\t:info\t:start\tnil
INFO  jepsen.util - 1\t:invoke\t:cas\t[1 2]
INFO  jepsen.util - 0\t:ok\t:read\t4
INFO  jepsen.util - 1\t:fail\t:cas\t[1 2]
INFO  jepsen.util - 0\t:invoke\t:read\tnil
INFO  jepsen.util - 0\t:fail\t:read\t:timed-out
`;

function problem(text: string, options?: ReadOptions): string {
  try {
    readOperations(text, options);
  } catch (error) {
    if (error instanceof HistoryFormatError) return error.message;
    throw error;
  }
  return 'read without complaint';
}

describe('a history of operations', () => {
  it('as JSON lines has calls, their answers, and what stays open', () => {
    const operations = readOperations(
      [
        '{"process":0,"type":"invoke","f":"acquire","key":"a","client":"c1","value":null,"index":0}',
        '{"process":1,"type":"invoke","f":"acquire","key":"a","index":1}',
        '{"process":0,"type":"ok","f":"acquire","key":"a","value":{"token":7},"index":2}',
        '{"process":2,"type":"invoke","f":"release"}',
        '{"process":2,"type":"fail","f":"release"}',
        '{"process":1,"type":"info","f":"acquire"}',
      ].join('\n'),
    );
    const [first, second] = operations;
    expect(operations).toHaveLength(2);
    expect(first).toMatchObject({
      client: 'c1',
      process: '0',
      key: 'a',
      output: { token: 7 },
      invokedAt: 1,
      returnedAt: 3,
    });
    expect(second).toMatchObject({ client: '1', output: null, invokedAt: 2, returnedAt: Infinity, line: 2 });
  });

  it.each([
    [
      'a vector of maps',
      '[{:process 0, :type :invoke, :f :write, :value [1 "]"]} ; }\n {:process 0 :type :ok :f :write :value nil}]',
    ],
    [
      'records',
      '#jepsen.history.Op{:index 0, :process 0, :type :invoke, :f :write, :value [1 "]"]}\n#jepsen.history.Op{:process 0 :type :ok :f :write}',
    ],
    [
      'a list',
      '({:type :invoke, :f :write, :process 0, :value (1 "]")}\n{:type :info, :f :start, :process :nemesis}\n{:type :ok, :f :write, :process 0})',
    ],
  ])('as EDN can be %s', (_, text) => {
    expect(readOperations(text)).toMatchObject([{ f: 'write', input: [1, ']'], process: '0' }]);
    expect(readOperations(text)[0]?.returnedAt).toBeLessThan(4);
  });

  it('can have keys within its values', () => {
    const text =
      '{:process 0, :type :invoke, :f :cas, :value [7 [1 2]]}\n{:process 0, :type :ok, :f :cas, :value [7 [1 2]]}';
    expect(readOperations(text, { keyed: true })).toMatchObject([{ key: '7', input: [1, 2] }]);
  });

  it('as a log of Jepsen has refused compare-and-sets, and no reads that timed out', () => {
    expect(readOperations(LOG)).toMatchObject([
      { f: 'read', output: 4 },
      { f: 'cas', input: [1, 2], output: false },
    ]);
  });

  it.each([
    ['{"process":0,"type":"maybe","f":"read"}', /line 1: "type" is "maybe", not one of invoke, ok, fail, info/],
    ['{"process":0,"type":"ok","f":"read"}', /line 1: process 0 is answered "ok" of read, which it has not called/],
    [
      '{"process":0,"type":"invoke","f":"read"}\n{"process":0,"type":"invoke","f":"read"}',
      /line 2: .* read of line 1 is still open/,
    ],
    [
      '{"process":0,"type":"invoke","f":"read"}\n\n{"process":0,"type":"ok","f":"write"}',
      /line 3: .* but read of line 1/,
    ],
    [
      '{"process":0,"type":"invoke","f":"a","index":4}\n{"process":1,"type":"invoke","f":"a","index":3}',
      /line 2: "index" is 3 after 4/,
    ],
    ['{"process":0,', /line 1: not JSON/],
    ['{"process":0,"type":"invoke","f":"write","value":9007199254740993}', /line 1: the number .* is beyond 2\^53/],
    ['{:process 0\n:type :invoke', /line 1: what opens here has no "}"/],
    ['[{:process 0 :type :invoke :f :read}]\n]', /line 2: "]" closes nothing/],
    ['[{:process 0 :type :invoke :f "read}]', /line 1: the string that begins here has no end/],
    ['\n[{:process 0\n :type :invoke}]', /line 2: "f" is missing/],
    ['INFO  jepsen.util - 0 :invoke', /line 1: the line has no process, type, operation and value/],
    ['hello', /line 1: neither JSON lines, nor EDN, nor a log of Jepsen/],
  ])('that reads %j is refused, with its line', (text, message) => {
    expect(problem(text)).toMatch(message);
  });
});
