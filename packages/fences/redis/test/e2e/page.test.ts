import { expect, it } from 'vitest';
import { fence, highest, keyOf, risks, StaleTokenError } from '../../src/index.ts';
import { openClient } from '../support/clients.ts';
import { clientOf, linesOf } from '@holdfast/fence/test/page';
import { hasRedis, startRedis } from '../support/server.ts';

it.skipIf(!hasRedis())('docs/fences-redis.md › its lines do what they say', async () => {
  const server = await startRedis();
  const { client: redis, plain, close } = await openClient('ioredis', server.port);
  try {
    const warnings: unknown[] = [];
    const given = {
      fence,
      keyOf,
      risks,
      // A constructor may give another object.
      Redis: function Given() {
        return redis;
      },
      console: { warn: (text: unknown) => warnings.push(text) },
    };
    const lines = (token: number) => linesOf('docs/fences-redis.md', { ...given, client: clientOf(token) });
    await lines(7)();
    await lines(7)();
    await expect(lines(5)()).rejects.toBeInstanceOf(StaleTokenError);
    expect(warnings).toEqual([]);
    expect(await plain('GET', '{jobs}:count')).toBe('2');
    expect(await plain('HGET', '{jobs}:1', 'state')).toBe('running');
    expect(await highest(redis, 'jobs')).toBe(7);
  } finally {
    await close();
    await server.stop();
  }
});
