import { describe, expect, it } from 'vitest';

import { FencedKv, FencedKvError } from '../src/index.ts';
import type { Bucket, Fetch } from '../src/index.ts';

const URL_OF_NOBODY = 'http://127.0.0.1:1';

let sent = 0;
const fetch: Fetch = async () => {
  sent += 1;
  return Response.json({ code: 'OVERLOADED', message: 'nothing is to come here' }, { status: 503 });
};

/** As a caller without TypeScript has it. */
type Loose = Record<keyof Bucket, (...args: readonly unknown[]) => unknown>;

function looseBucket(): Loose {
  return new FencedKv(URL_OF_NOBODY, { fetch }).bucket('b') as unknown as Loose;
}

/** The message of the refusal. */
async function refusalOf(method: keyof Bucket, args: readonly unknown[]): Promise<string> {
  sent = 0;
  const failure: unknown = await (async () => await looseBucket()[method](...args))().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(FencedKvError);
  expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', retryable: false, indeterminate: false });
  expect(sent).toBe(0);
  return (failure as FencedKvError).message;
}

describe('an option that there is not', () => {
  it.each([
    ['put', ['k', 'v', { ifrevision: 1 }], 'put has no option "ifrevision"; did you mean ifRevision?'],
    ['put', ['k', 'v', { ttl: 5 }], 'put has no option "ttl"; did you mean ttlMs?'],
    ['delete', ['k', { ttlMs: 5 }], 'delete has no option "ttlMs"; known are ifRevision, signal'],
    ['get', ['k', { token: 5 }], 'get has no option "token"; known are signal'],
    ['getStream', ['k', { Signal: undefined }], 'did you mean signal?'],
    ['create', [{ token: 'optional' }], 'create has no option "token"; did you mean tokens?'],
    ['list', [{ pre: 'a' }], 'list has no option "pre"; did you mean prefix?'],
    ['info', [{ timeoutMs: 5 }], 'info has no option "timeoutMs"'],
    ['changes', [{ revision: 5 }], 'changes has no option "revision"; known are from, signal'],
    ['batch', [[], { ifRevision: 1 }], 'batch has no option "ifRevision"'],
    ['fencedBy', [{ token: 5 }, { floor: 5 }], 'fencedBy has no option "floor"'],
    [
      'batch',
      [[{ op: 'put', key: 'k', value: 'v', ifrevision: 1 }]],
      'batch: writes[0] has no option "ifrevision"; did',
    ],
    ['batch', [[{ op: 'delete', key: 'k', value: 'v' }]], 'batch: writes[0] has no option "value"; known are op, key'],
  ] as const)(
    'of %s with %j is refused with those that there are, before anything is sent',
    async (method, args, message) => {
      expect(await refusalOf(method, args)).toContain(message);
    },
  );

  it('of the client is refused, too', () => {
    const make = (options: object): unknown => new FencedKv(URL_OF_NOBODY, options);
    expect(() => make({ timeout: 5 })).toThrow('FencedKv has no option "timeout"; did you mean timeoutMs?');
    expect(() => make({ timeoutMs: '5' })).toThrow(
      'FencedKv: timeoutMs is a number of milliseconds above 0; it was given "5"',
    );
    expect(() => make({ timeoutMs: 0 })).toThrow('above 0; it was given 0');
    expect(() => make({ fetch: true })).toThrow('FencedKv: fetch is a function; it was given true');
  });
});

describe('a value of another type than is asked for', () => {
  it.each([
    ['put', ['k', 5], 'put: a value is text or a Uint8Array or a ReadableStream of these; it was given 5'],
    ['put', ['k', [1, 2]], 'it was given a Array'],
    ['put', ['k', undefined], 'it was given undefined'],
    [
      'put',
      ['k', 'v', { ifRevision: '"3"' }],
      'put: ifRevision is a revision, or null where the key must be absent; it',
    ],
    ['put', ['k', 'v', { ifRevision: 0 }], 'it was given 0'],
    ['put', ['k', 'v', { ttlMs: '500' }], 'put: ttlMs is an integer of at least 1; it was given "500"'],
    ['put', ['k', 'v', { ttlMs: 0.5 }], 'it was given 0.5'],
    ['put', ['k', 'v', 3], 'put takes an object with options, ttlMs, ifRevision, signal; it was given 3'],
    ['put', ['k', 'v', null], 'it was given null'],
    ['put', [5, 'v'], '5 cannot be a key'],
    ['get', ['k', { signal: {} }], 'get: signal is an AbortSignal; it was given a Object'],
    ['list', [{ limit: 'all' }], 'list: limit is an integer of at least 1; it was given "all"'],
    ['list', [{ prefix: 5 }], 'list: prefix is text; it was given 5'],
    ['create', [{ tokens: 'never' }], 'create: tokens is "required" or "optional"; it was given "never"'],
    ['create', [{ lock: null }], 'create: lock is text; it was given null'],
    ['changes', [{ from: -1 }], 'changes: from is a revision: an integer of at least 0; it was given -1'],
    ['batch', ['put'], 'batch takes an array of writes; it was given "put"'],
    ['batch', [[null]], 'batch: writes[0] takes an object'],
    ['batch', [[{ op: 'put', key: 'k', value: 5 }]], 'batch: writes[0]: value is text or a Uint8Array; it was given 5'],
    ['batch', [[{ op: 'put', key: 'k' }]], 'batch: writes[0]: value is text or a Uint8Array, and there is none'],
    ['batch', [[{ op: 'set', key: 'k', value: 'v' }]], 'batch: writes[0]: op is "put" or "delete"; it was given "set"'],
    ['batch', [[{ key: 'k', value: 'v' }]], 'batch: writes[0]: op is "put" or "delete"'],
    ['batch', [[{ op: 'delete' }]], 'batch: writes[0]: key is text, and there is none'],
    [
      'fencedBy',
      [{}],
      'fencedBy takes a held lock, or an object with its token, an integer of at least 1; the token is undefined',
    ],
    ['fencedBy', [{ token: '57' }], 'the token is "57"'],
    ['fencedBy', [undefined], 'the token is undefined'],
  ] as const)('in %s with %j is refused with what it is to be', async (method, args, message) => {
    expect(await refusalOf(method, args)).toContain(message);
  });

  it('in the name of a bucket is refused', () => {
    const kv = new FencedKv(URL_OF_NOBODY, { fetch }) as unknown as { bucket(name: unknown): Bucket };
    expect(() => kv.bucket(undefined)).toThrow("a bucket's name is text; it was given undefined");
  });
});

describe('an option that is undefined', () => {
  it('is one that is not there', async () => {
    sent = 0;
    const call = looseBucket()['put']('k', 'v', { ifRevision: undefined, ttlMs: undefined, signal: undefined });
    await expect(call).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(sent).toBe(1);
  });
});
