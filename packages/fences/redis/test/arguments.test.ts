import { describe, expect, it } from 'vitest';
import { asFenceError } from '../src/errors.ts';
import {
  fence,
  FenceError,
  highest,
  install,
  keyOf,
  risks,
  type RedisClient,
  type RedisTransaction,
} from '../src/index.ts';
import { fenceKey } from '../src/keys.ts';
import { padded } from '../src/scripts.ts';

/** Nothing may be sent with arguments that are malformed. */
function untouched(): RedisClient {
  const refuse = (): never => {
    throw new Error('the client was asked');
  };
  return { evalSha: refuse, eval: refuse };
}

/** A server that takes all and says so. */
function willing(): { readonly client: RedisClient; readonly sent: unknown[] } {
  const sent: unknown[] = [];
  const answer = async (_script: string, options: object): Promise<unknown> => {
    sent.push(options);
    return ['ok'];
  };
  return { client: { evalSha: answer, eval: answer }, sent };
}

async function refusal(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(FenceError);
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', retryable: false, indeterminate: false });
  return (error as FenceError).message;
}

const holder = { token: 5 };
const body = async (): Promise<void> => undefined;

describe('the arguments of a call', () => {
  it.each([undefined, null, 'redis://localhost', {}, { eval: () => undefined }, { evalsha: () => undefined }])(
    'have no client %j',
    async (wrong) => {
      const client = wrong as unknown as RedisClient;
      for (const call of [
        fence(client, 'jobs', holder, body),
        install(client, 'jobs', holder),
        highest(client, 'jobs'),
        risks(client, 'jobs'),
      ]) {
        expect(await refusal(call)).toContain('a Redis or Cluster of ioredis');
      }
    },
  );

  it('have no pipeline, whose commands get no reply', async () => {
    const pipeline = { eval: () => pipeline, evalsha: () => pipeline } as unknown as RedisClient;
    expect(await refusal(install(pipeline, 'jobs', holder))).toContain('and no pipeline');
  });

  it.each(['', 5, null, 'a\0b', 'x'.repeat(201)])('have no scope %j', async (wrong) => {
    const scope = wrong as string;
    const client = untouched();
    for (const call of [
      fence(client, scope, holder, body),
      install(client, scope, holder),
      highest(client, scope),
      risks(client, scope),
    ]) {
      expect(await refusal(call)).toMatch(/scope/);
    }
    expect(() => keyOf(scope, 'a')).toThrow(/scope/);
  });

  it.each([-1, 0, 1.5, Number.NaN, '5', 2 ** 53, 5n, null, undefined])('have no token %s', async (token) => {
    const wrong = { token } as { readonly token: number };
    expect(await refusal(fence(untouched(), 'jobs', wrong, body))).toContain('is no token');
    expect(await refusal(install(untouched(), 'jobs', wrong))).toContain('is no token');
  });

  it('have a body that is a function', async () => {
    const wrong = undefined as unknown as typeof body;
    expect(await refusal(fence(untouched(), 'jobs', holder, wrong))).toContain('the body');
  });

  it.each([
    [{ timeout: 5 }, 'fence has no option "timeout"'],
    [{ timeoutMs: 0 }, 'timeoutMs is 0'],
    [{ timeoutMs: '5' }, 'timeoutMs is 5'],
    [{ timeoutMs: 2 ** 31 }, 'timeoutMs is 2147483648'],
    [null, 'fence takes an object with options'],
  ])('have no options %j', async (options, message) => {
    expect(await refusal(fence(untouched(), 'jobs', holder, body, options as object))).toContain(message);
  });

  it('are not sent where the signal has aborted', async () => {
    const call = fence(untouched(), 'jobs', { token: 5, signal: AbortSignal.abort('lost') }, body);
    await expect(call).rejects.toMatchObject({ code: 'ABORTED', cause: 'lost' });
  });
});

describe('the commands of a body', () => {
  const WRONG: readonly (readonly [string, (tx: RedisTransaction) => unknown, string])[] = [
    ['whose name is none', (tx) => tx.queue('SET a', ['a']), '"SET a" is no command'],
    ['without a name', (tx) => tx.queue('', ['a']), '"" is no command'],
    ['without keys', (tx) => tx.queue('FLUSHALL', []), 'an array of at least one'],
    ['whose keys are a text', (tx) => tx.queue('DEL', 'a' as unknown as string[]), 'an array of at least one'],
    ['with an empty key', (tx) => tx.del(''), 'is no key'],
    ['on the key of a token', (tx) => tx.del(fenceKey('jobs')), 'is where a token is kept'],
    ['with an object', (tx) => tx.set('a', {} as string), 'is no argument of SET'],
    ['with null', (tx) => tx.set('a', null as unknown as string), 'is no argument of SET'],
    ['with NaN', (tx) => tx.set('a', Number.NaN), 'is no argument of SET'],
    ['that expires never', (tx) => tx.set('a', 'a', { ttlMs: 0 }), 'ttlMs is 0'],
    ['with too many arguments', (tx) => tx.queue('SADD', ['a'], Array(7_000).fill('x')), 'at most 7000: split it'],
    ['whose arguments are a text', (tx) => tx.call('GET', ['a'], 'x' as unknown as string[]), 'are an array'],
    ['that is a script of no text', (tx) => tx.eval(5 as unknown as string, ['a']), 'a text of Lua'],
  ];

  it.each(WRONG)('%s are refused, and nothing is written', async (_name, use, message) => {
    const { client, sent } = willing();
    const call = fence(client, 'jobs', holder, async (tx) => {
      tx.set('before', 'a');
      await use(tx);
    });
    expect(await refusal(call)).toContain(message);
    expect(sent).toHaveLength(1); // the install
  });

  it('are bounded in their number', async () => {
    const { client } = willing();
    const call = fence(client, 'jobs', holder, async (tx) => {
      for (let count = 0; count <= 10_000; count += 1) tx.set('a', count);
    });
    expect(await refusal(call)).toContain('at most 10000 commands');
  });
});

describe('a key', () => {
  it('of a scope is in the slot of its token, whatever braces the scope has', () => {
    const tag = (key: string): string | undefined => /\{(.+?)\}/.exec(key)?.[1];
    for (const scope of ['jobs', '{}', '}{', 'a{b}c', '%7B', '{', 'jobs of {42}']) {
      expect(tag(keyOf(scope, 'a}b{c}'))).toBe(tag(fenceKey(scope)));
      expect(tag(fenceKey(scope))).toBeDefined();
    }
  });

  it('is of one scope', () => {
    const scopes = ['{', '%7B', '%257B', '}', '%7D'];
    expect(new Set(scopes.map(fenceKey)).size).toBe(scopes.length);
  });

  it('has a name that is a text', () => {
    expect(() => keyOf('jobs', 5 as unknown as string)).toThrow('a string');
  });
});

describe('a token', () => {
  it('is text whose order is that of numbers', () => {
    const tokens = [1, 9, 10, 99, 2 ** 32, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER];
    expect(tokens.map(padded)).toEqual(tokens.map(padded).toSorted());
    expect(new Set(tokens.map((token) => padded(token).length))).toEqual(new Set([20]));
  });
});

describe('an error of the client', () => {
  it.each([
    ['LOADING Redis is loading the dataset in memory', 'RESOURCE', true],
    ['NOREPLICAS Not enough good replicas to write.', 'RESOURCE', true],
    ['NOPERM this user has no permissions to run the eval command', 'RESOURCE', false],
    ["CROSSSLOT Keys in request don't hash to the same slot", 'INVALID_ARGUMENT', false],
    ['Connection is closed.', 'CONNECTION', false],
    ['Socket closed unexpectedly', 'CONNECTION', false],
    ['connect ECONNREFUSED 127.0.0.1:1', 'CONNECTION', false],
    ['Command timed out', 'TIMEOUT', false],
  ])('%s is told as one of a fence, of a write', (message, code, retryable) => {
    const indeterminate = code === 'CONNECTION' || code === 'TIMEOUT';
    expect(asFenceError(new Error(message), 'write')).toMatchObject({ code, retryable, indeterminate });
  });

  it('of an install can be tried again', () => {
    const error = asFenceError(new Error('Socket closed unexpectedly'), 'install');
    expect(error).toMatchObject({ code: 'CONNECTION', retryable: true, indeterminate: false });
  });

  it('that was not sent has written nothing', () => {
    expect(asFenceError(new Error('The client is closed'), 'write')).toMatchObject({ indeterminate: false });
  });
});
