import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { fence, highest, install, keyOf, risks, StaleTokenError, type RedisClient } from '../../src/index.ts';
import { runScript, scriptOf } from '../../src/client.ts';
import { fenceKey } from '../../src/keys.ts';
import { CHECK } from '../../src/scripts.ts';
import { KINDS, openClient, type Kind, type OpenClient } from '../support/clients.ts';
import { CLUSTER, hasRedis, startRedis, type RedisServer } from '../support/server.ts';

async function failureOf(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => {
      throw new Error('it succeeded');
    },
    (error: unknown) => error,
  );
}

describe.skipIf(!hasRedis())('a fence on Redis', () => {
  let server: RedisServer;
  let cluster: RedisServer;

  beforeAll(async () => {
    server = await startRedis();
    cluster = await startRedis(CLUSTER);
  });
  afterAll(async () => {
    await server?.stop();
    await cluster?.stop();
  });

  async function opened(kind: Kind = 'ioredis', port?: number): Promise<OpenClient> {
    const open = await openClient(kind, port ?? (kind.endsWith('cluster') ? cluster : server).port);
    onTestFinished(() => open.close());
    return open;
  }

  describe.each(KINDS)('with %s', (kind) => {
    let redis: RedisClient;
    let plain: OpenClient['plain'];
    let scope: string;

    beforeEach(async () => {
      ({ client: redis, plain } = await opened(kind));
      scope = `accounts of ${expect.getState().currentTestName ?? ''}`.slice(0, 150);
    });

    it('returns what its body returns, and has done what it queued', async () => {
      const [count, list, gone] = ['count', 'list', 'gone'].map((name) => keyOf(scope, name)) as [
        string,
        string,
        string,
      ];
      await plain('SET', gone, 'there');
      const result = await fence(redis, scope, { token: 5 }, async (tx) => {
        expect(await tx.get(count)).toBeNull();
        tx.set(count, 41);
        tx.queue('INCR', [count]);
        tx.queue('RPUSH', [list], ['a', Buffer.from('b'), 3]);
        tx.del(gone);
        expect(await plain('GET', count)).toBeNull();
        return 'done';
      });
      expect(result).toBe('done');
      await fence(redis, scope, { token: 5 }, async (tx) => {
        expect(await tx.get(count)).toBe('42');
        expect(await tx.call('LRANGE', [list], [0, -1])).toEqual(['a', 'b', '3']);
        expect(await tx.get(gone)).toBeNull();
      });
      expect(await highest(redis, scope)).toBe(5);
    });

    it('expires a key where it is told to', async () => {
      const key = keyOf(scope, 'a');
      await fence(redis, scope, { token: 5 }, async (tx) => tx.set(key, 'a', { ttlMs: 60_000 }));
      expect(Number(await plain('PTTL', key))).toBeGreaterThan(0);
      expect(Number(await plain('PTTL', fenceKey(scope)))).toBe(-1);
    });

    it('that is stale is told which token is ahead of it, and its body is not run', async () => {
      await install(redis, scope, { token: 7 });
      let ran = false;
      const error = await failureOf(
        fence(redis, scope, { token: 5 }, async () => {
          ran = true;
        }),
      );
      expect(error).toBeInstanceOf(StaleTokenError);
      expect(error).toMatchObject({ code: 'STALE_TOKEN', scope, token: 5, highest: 7 });
      expect(ran).toBe(false);
    });

    it('whose lock is granted to somebody else in its body can neither read nor write any more', async () => {
      const key = keyOf(scope, 'a');
      const reads: unknown[] = [];
      const call = fence(redis, scope, { token: 5 }, async (tx) => {
        tx.set(key, 'late');
        await install(redis, scope, { token: 7 });
        reads.push(await failureOf(tx.get(keyOf(scope, 'b'))));
        reads.push(await failureOf(tx.eval("return redis.call('SET', KEYS[1], 'late')", [keyOf(scope, 'b')])));
      });
      expect(await failureOf(call)).toBeInstanceOf(StaleTokenError);
      expect(reads).toEqual([expect.any(StaleTokenError), expect.any(StaleTokenError)]);
      expect([await plain('GET', key), await plain('GET', keyOf(scope, 'b'))]).toEqual([null, null]);
    });

    it('runs a script of the application behind the check, with its own keys and arguments', async () => {
      const key = keyOf(scope, 'stock');
      const replies = await fence(redis, scope, { token: 5 }, async (tx) => [
        await tx.eval(
          "redis.call('SET', KEYS[1], ARGV[2]); return redis.call('DECRBY', KEYS[1], ARGV[1])",
          [key],
          [3, 10],
        ),
        await tx.eval('return {#KEYS, #ARGV}', [key], []),
        await tx.eval('return nil', [key]),
        await tx.call('STRLEN', [key]),
      ]);
      expect(replies).toEqual([7, [1, 0], null, 1]);
    });

    it('says which command failed, and that Redis does not roll back', async () => {
      const [text, other] = [keyOf(scope, 'text'), keyOf(scope, 'other')];
      await plain('SET', text, 'a');
      const first = await failureOf(
        fence(redis, scope, { token: 5 }, async (tx) => {
          tx.queue('LPUSH', [text], ['x']);
          tx.set(other, 'never');
        }),
      );
      expect(first).toMatchObject({ code: 'RESOURCE', indeterminate: false });
      expect(String(first)).toMatch(/command 1 of 2 \(LPUSH\) failed: WRONGTYPE.*nothing was written/);
      const second = await failureOf(
        fence(redis, scope, { token: 5 }, async (tx) => {
          tx.set(other, 'done');
          tx.queue('LPUSH', [text], ['x']);
          tx.set(other, 'never');
        }),
      );
      expect(second).toMatchObject({ code: 'RESOURCE', indeterminate: true });
      expect(String(second)).toMatch(/command 2 of 3 \(LPUSH\).*the 1 before it were done/);
      expect(await plain('GET', other)).toBe('done');
    });

    it('refuses commands that scripts may not send, and scripts that are none', async () => {
      const key = keyOf(scope, 'a');
      const blocked = fence(redis, scope, { token: 5 }, (tx) => tx.call('WATCH', [key]));
      expect(await failureOf(blocked)).toMatchObject({ name: 'FenceError', code: 'RESOURCE' });
      const unknown = fence(redis, scope, { token: 5 }, (tx) => tx.call('NOSUCHCOMMAND', [key]));
      expect(await failureOf(unknown)).toMatchObject({ name: 'FenceError', code: 'RESOURCE' });
      const broken = fence(redis, scope, { token: 5 }, (tx) => tx.eval('return (', [key]));
      expect(await failureOf(broken)).toMatchObject({ name: 'FenceError', code: 'RESOURCE', retryable: false });
    });

    it('refuses a key of the scope that holds something else, and leaves it', async () => {
      for (const set of [
        ['SET', fenceKey(scope), 'v2:7'],
        ['SET', fenceKey(scope), '7'],
        ['SET', fenceKey(scope), '-0000000000000000007'],
      ]) {
        await plain(...set);
        for (const call of [install(redis, scope, { token: 9 }), highest(redis, scope)]) {
          const error = await failureOf(call);
          expect(error).toMatchObject({ name: 'FenceError', code: 'SCHEMA_VERSION' });
          expect(String(error)).toContain('made by a newer version of @holdfast/fence-redis');
        }
        expect(await plain('GET', fenceKey(scope))).toBe(set[2]);
      }
      await plain('DEL', fenceKey(scope));
      await plain('HSET', fenceKey(scope), 'token', '7');
      expect(await failureOf(install(redis, scope, { token: 9 }))).toMatchObject({ code: 'SCHEMA_VERSION' });
    });

    it('is sent whole to a server that has lost its scripts', async () => {
      const holder = { token: 5 };
      const key = keyOf(scope, 'a');
      await fence(redis, scope, holder, async (tx) => tx.set(key, 'a'));
      // Of a cluster's client, a command without keys would go anywhere; there is one server.
      const direct = await opened(
        kind.endsWith('cluster') ? 'ioredis' : kind,
        (kind.endsWith('cluster') ? cluster : server).port,
      );
      await direct.plain('SCRIPT', 'FLUSH');
      await fence(redis, scope, holder, async (tx) => tx.set(key, 'b'));
      expect(await plain('GET', key)).toBe('b');
    });

    it('costs no round trip more than the write, when its token is installed', async () => {
      let sent = 0;
      const counted = new Proxy(redis, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== 'function') return value;
          return (...args: readonly unknown[]): unknown => {
            if (/^eval(sha)?$/i.test(String(name))) sent += 1;
            return Reflect.apply(value, target, args);
          };
        },
      });
      const holder = { token: 5 };
      const write = (): Promise<void> => fence(counted, scope, holder, async (tx) => tx.set(keyOf(scope, 'a'), 'a'));
      await write();
      const before = sent;
      await write();
      expect(sent - before).toBe(1);
    });
  });

  it('shares a scope among all clients', async () => {
    const [one, two] = [(await opened('ioredis')).client, (await opened('node-redis')).client];
    await install(one, 'shared', { token: 5 });
    await install(two, 'shared', { token: 7 });
    expect(await failureOf(install(one, 'shared', { token: 6 }))).toMatchObject({ highest: 7 });
  });

  it.each(['ioredis in a cluster', 'node-redis in a cluster'] as const)(
    'tells keys of another slot how to be named, with %s',
    async (kind) => {
      const { client } = await opened(kind);
      const error = await failureOf(fence(client, 'jobs', { token: 5 }, async (tx) => tx.set('elsewhere', 'a')));
      expect(error).toMatchObject({ name: 'FenceError', code: 'INVALID_ARGUMENT' });
      expect(String(error)).toContain('name them by keyOf(scope, name)');
    },
  );

  it('raises a floor, and lowers none', async () => {
    const { client } = await opened();
    const holder = { token: 9, floor: 5 };
    await install(client, 'floors', holder);
    holder.floor = 8;
    await fence(client, 'floors', holder, async (tx) => tx.set(keyOf('floors', 'a'), 'a'));
    expect(await highest(client, 'floors')).toBe(8);
    await install(client, 'floors', { token: 10, floor: 6 });
    expect(await highest(client, 'floors')).toBe(8);
  });

  it('compares what numbers of Lua cannot tell apart', async () => {
    const { client, plain } = await opened();
    const [lower, higher] = ['00009007199254740992', '00009007199254740993'];
    // The trap: both are the same double.
    expect(await plain('EVAL', 'return tonumber(ARGV[1]) < tonumber(ARGV[2]) and 1 or 0', '0', lower, higher)).toBe(0);
    const check = scriptOf(`${CHECK}\nreturn {'ok'}`);
    expect(await runScript(client, check, ['beyond'], [higher, higher])).toEqual(['ok']);
    expect(await runScript(client, check, ['beyond'], [lower, lower])).toEqual(['stale', higher]);
  });

  it('whose check is apart from the write would let a stale one in', async () => {
    const { client, plain } = await opened();
    const naive = async (token: number, pause: () => Promise<void>): Promise<void> => {
      if (token < Number(await plain('GET', 'naive:token'))) throw new Error('stale');
      await pause();
      await plain('SET', 'naive:value', `by ${token}`);
    };
    await naive(5, async () => {
      await plain('SET', 'naive:token', '7');
      await plain('SET', 'naive:value', 'by 7');
    });
    expect(await plain('GET', 'naive:value')).toBe('by 5');
    const fenced = fence(client, 'naive', { token: 5 }, async (tx) => {
      tx.set(keyOf('naive', 'value'), 'by 5');
      await fence(client, 'naive', { token: 7 }, async (newer) => newer.set(keyOf('naive', 'value'), 'by 7'));
    });
    expect(await failureOf(fenced)).toBeInstanceOf(StaleTokenError);
    expect(await plain('GET', keyOf('naive', 'value'))).toBe('by 7');
  });

  describe('in its body', () => {
    it('is told when it uses what is queued, and what is over', async () => {
      const { client } = await opened();
      const key = keyOf('jobs', 'a');
      let late: Promise<unknown> | undefined;
      let use = (): Promise<unknown> => Promise.resolve();
      await fence(client, 'jobs', { token: 5 }, async (tx) => {
        tx.set(key, 'a');
        late = failureOf(tx.get(key));
        use = () => tx.get(key);
        await late;
      });
      expect(String(await late)).toContain('is queued to be written when the body has returned');
      expect(String(await failureOf(use()))).toContain('the transaction is over, and GET was not sent');
    });

    it('passes its error on, and writes nothing', async () => {
      const { client, plain } = await opened();
      const own = new Error('no funds');
      const thrown = fence(client, 'own', { token: 5 }, async (tx) => {
        tx.set(keyOf('own', 'a'), 'a');
        throw own;
      });
      expect(await failureOf(thrown)).toBe(own);
      expect(await plain('GET', keyOf('own', 'a'))).toBeNull();
    });

    it('is ended by a signal, and writes nothing', async () => {
      const { client, plain } = await opened();
      for (const whose of ['holder', 'call']) {
        const aborter = new AbortController();
        const { signal } = aborter;
        const [holder, options] = whose === 'holder' ? [{ token: 5, signal }, {}] : [{ token: 5 }, { signal }];
        const aborted = fence(
          client,
          'signals',
          holder,
          async (tx) => {
            tx.set(keyOf('signals', 'a'), 'a');
            aborter.abort('lost');
            await new Promise(() => undefined);
          },
          options,
        );
        expect(await failureOf(aborted)).toMatchObject({ code: 'ABORTED', indeterminate: false, cause: 'lost' });
        expect(await plain('GET', keyOf('signals', 'a'))).toBeNull();
      }
    });
  });

  it('asks whether the lock is held, at its beginning and before it writes', async () => {
    const { client, plain } = await opened();
    const lost = new Error('lock lost');
    for (const count of [0, 1]) {
      let asked = 0;
      const assertHeld = (): void => {
        asked += 1;
        if (asked > count) throw lost;
      };
      const call = fence(client, 'held', { token: 5, assertHeld }, async (tx) => tx.set(keyOf('held', 'a'), 'a'));
      expect(await failureOf(call)).toBe(lost);
      expect(await plain('GET', keyOf('held', 'a'))).toBeNull();
    }
  });

  describe('whose server goes away', () => {
    it('before it began tells so, with either client', async () => {
      const gone = await startRedis();
      for (const kind of ['ioredis', 'node-redis'] as const) {
        const { client } = await opened(kind, gone.port);
        await install(client, 'gone', { token: 5 });
      }
      const clients = [await opened('ioredis', gone.port), await opened('node-redis', gone.port)];
      await gone.stop();
      for (const { client } of clients) {
        const error = await failureOf(install(client, 'gone', { token: 5 }, { timeoutMs: 200 }));
        expect(error).toMatchObject({ name: 'FenceError', retryable: true, indeterminate: false });
        expect(['TIMEOUT', 'CONNECTION']).toContain((error as { readonly code: string }).code);
      }
    });

    it.each(['ioredis', 'node-redis'] as const)('while it writes may have written, with %s', async (kind) => {
      const gone = await startRedis();
      const { client } = await opened(kind, gone.port);
      const call = fence(
        client,
        'gone',
        { token: 5 },
        async (tx) => {
          tx.set(keyOf('gone', 'a'), 'a');
          await gone.stop();
        },
        { timeoutMs: 200 },
      );
      expect(await failureOf(call)).toMatchObject({ name: 'FenceError', retryable: false, indeterminate: true });
    });

    it.each(['ioredis', 'node-redis'] as const)(
      'and has no room or replicas can be tried again, with %s',
      async (kind) => {
        const { client, plain } = await opened(kind);
        await plain('CONFIG', 'SET', 'min-replicas-to-write', '1');
        try {
          const error = await failureOf(install(client, `replicas of ${kind}`, { token: 5 }));
          expect(error).toMatchObject({ name: 'FenceError', code: 'RESOURCE', retryable: true });
        } finally {
          await plain('CONFIG', 'SET', 'min-replicas-to-write', '0');
        }
        await install(client, `replicas of ${kind}`, { token: 5 });
      },
    );
  });

  it('warns of settings that lose tokens', async () => {
    const { client, plain } = await opened();
    expect(await risks(client, 'jobs')).toEqual([]);
    await plain('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await plain('CONFIG', 'SET', 'appendonly', 'no');
    try {
      expect(await risks(client, 'jobs')).toEqual([
        expect.stringContaining('maxmemory-policy lets the server evict tokens'),
        expect.stringContaining('appendonly is off'),
      ]);
    } finally {
      await plain('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
      await plain('CONFIG', 'SET', 'appendonly', 'yes');
    }
  });

  it('is refused by a replica, which says why', async () => {
    const follower = await startRedis(['--replicaof', '127.0.0.1', `${server.port}`]);
    try {
      const { client } = await opened('ioredis', follower.port);
      const error = await failureOf(install(client, 'replica', { token: 5 }));
      expect(error).toMatchObject({ name: 'FenceError', code: 'RESOURCE', retryable: true });
      expect(String(error)).toContain('this is a replica');
      expect(await risks(client, 'replica')).toContain('this server is a replica: tokens are checked by the primary');
    } finally {
      await follower.stop();
    }
  });

  it('needs no more rights than scripts and its keys', async () => {
    const { plain } = await opened();
    await plain('ACL', 'SETUSER', 'app', 'on', '>secret', '~{jobs}:*', '+evalsha', '+eval', '+get', '+set');
    const { Redis } = await import('ioredis');
    const app = new Redis(server.port, '127.0.0.1', { username: 'app', password: 'secret', enableReadyCheck: false });
    onTestFinished(() => app.disconnect());
    const refused = await failureOf(install(app, 'jobs', { token: 5 }));
    expect(String(refused)).toContain('the keys holdfast:fence:*');
    await plain('ACL', 'SETUSER', 'app', '~holdfast:fence:*');
    await fence(app, 'jobs', { token: 5 }, async (tx) => tx.set(keyOf('jobs', 'a'), 'a'));
  });
});
