import { check, create, remove, set } from '@holdfast/client';
import { beforeEach, describe, expect, it } from 'vitest';

import { runLockctl } from '../../src/program.ts';
import { CodedError, FakeClient } from '../support/fake-client.ts';
import { FakeEnvironment } from '../support/fake-environment.ts';

let outside: FakeEnvironment;
let client: FakeClient;
const run = (...args: string[]) => runLockctl(args, outside);

beforeEach(() => {
  outside = new FakeEnvironment();
  client = new FakeClient();
  outside.client = client;
});

const OPERATIONS = [
  { op: 'check', path: '/a', version: 3 },
  { op: 'create', path: '/b', data: 'text' },
  { op: 'create', path: '/c-', sequential: true, ttl: '10s', base64: '/wA=' },
  { op: 'create', path: '/d', container: true, data: null },
  { op: 'set', path: '/a', data: 'new', version: 3 },
  { op: 'remove', path: '/e' },
];
const EXPECTED = [
  check('/a', { version: 3 }),
  create('/b', 'text'),
  create('/c-', Uint8Array.of(255, 0), { sequential: true, ttlMs: 10_000 }),
  create('/d', null, { container: true }),
  set('/a', 'new', { version: 3 }),
  remove('/e'),
].map(({ operation }) => plain(operation));

/** Bytes of any class. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, each: unknown) => (each instanceof Uint8Array ? [...each] : each)));
}

function sent(): unknown {
  const [name, operations] = client.calls.at(-1) ?? [];
  expect(name).toBe('transaction');
  return (operations as typeof EXPECTED).map((each) => plain((each as { operation: unknown }).operation));
}

describe('txn', () => {
  it.each([
    ['an array', JSON.stringify(OPERATIONS)],
    ['an array over several lines', JSON.stringify(OPERATIONS, null, 2)],
    ['lines', `${OPERATIONS.map((each) => JSON.stringify(each)).join('\n')}\n\n`],
  ])('does the operations of a file that is %s', async (_, content) => {
    outside.files.set('ops.json', content);
    client.outcome = {
      index: 12,
      results: [
        { type: 'check', path: '/a' },
        { type: 'create', path: '/c-0000000001' },
        { type: 'set', path: '/a', version: 4 },
      ],
    };
    expect(await run('txn', 'ops.json')).toBe(0);
    expect(sent()).toEqual(EXPECTED);
    expect(outside.output).toBe('check /a\ncreate /c-0000000001\nset /a version 4\ndone at index 12\n');
  });

  it('reads standard input, and may have nothing to do', async () => {
    outside.input = '';
    expect(await run('--json', 'txn', '-')).toBe(0);
    expect(sent()).toEqual([]);
    expect(JSON.parse(outside.output)).toEqual({ index: 12, results: [] });
  });

  it.each<[string, unknown]>([
    ['operation 1 must be an object', 7],
    ['operation 1 must be an object', null],
    ['operation 1: "op" is "delete"; it must be one of check, create, set, remove', { op: 'delete', path: '/a' }],
    ['operation 1: "op" is undefined', { path: '/a' }],
    ['operation 1: check has no "data"; it has path, version', { op: 'check', path: '/a', data: '' }],
    ['operation 1: create has no "ephemeral"', { op: 'create', path: '/a', ephemeral: true }],
    ['operation 1: "path" must be text', { op: 'check' }],
    ['operation 1: path "a" does not begin with "/"', { op: 'check', path: 'a' }],
    ['operation 1: version is 1.5; it must be a whole number', { op: 'check', path: '/a', version: 1.5 }],
    ['operation 1: version is null', { op: 'remove', path: '/a', version: null }],
    ['"data" must be text, or null for none', { op: 'set', path: '/a', data: 7 }],
    ['"base64" must be bytes as base64', { op: 'set', path: '/a', base64: 'abc' }],
    ['"data" and "base64" exclude each other', { op: 'set', path: '/a', data: 'x', base64: '' }],
    ['"ttl" must be a duration', { op: 'create', path: '/a', ttl: 5 }],
    ['operation 1: A time to live is a number with a unit', { op: 'create', path: '/a', ttl: '5' }],
    ['operation 1: container is "yes"', { op: 'create', path: '/a', container: 'yes' }],
    ['operation 1: a container is neither ephemeral nor', { op: 'create', path: '/a', container: true, ttl: '5s' }],
  ])('refuses with exit code 2, before it connects: %s', async (problem, wrong) => {
    outside.files.set('ops.json', JSON.stringify([wrong]));
    expect(await run('txn', 'ops.json')).toBe(2);
    expect(outside.errors).toContain(problem);
    expect(client.closed).toBe(0);
  });

  it('names the line that is not JSON, and a file that is missing or not text', async () => {
    outside.files.set('ops.json', '{"op":"check","path":"/a"}\n{"op":\n');
    expect(await run('txn', 'ops.json')).toBe(2);
    expect(outside.errors).toContain('line 2 is not JSON');
    expect(await run('txn', 'none.json')).toBe(1);
    expect(outside.errors).toContain("open 'none.json'");
    outside.files.set('bytes', Uint8Array.of(0xff));
    expect(await run('txn', 'bytes')).toBe(2);
    expect(outside.errors).toContain('bytes is not UTF-8');
  });

  it('says because of which operation nothing was done', async () => {
    outside.input = '{"op":"check","path":"/a","version":3}';
    client.failure = new CodedError(
      'BAD_VERSION',
      'nothing was done, because of operation 0 of the transaction, check /a',
    );
    expect(await run('txn', '-')).toBe(1);
    expect(outside.errors).toMatch(/nothing was done, .*read the present one with "lockctl stat"/);
  });
});
