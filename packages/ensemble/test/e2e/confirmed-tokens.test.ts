/** A fenced store whose buckets are bound to locks of a real ensemble. */

import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Client } from '@holdfast/client';
import type { LocalEnsemble } from '@holdfast/ensemble';
import { FencedKv, TokenNotGrantedError } from '@holdfast/fenced-kv-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startScratchEnsemble } from './scratch-ensemble.ts';

describe('a bucket that is bound to a lock of the ensemble', () => {
  let ensemble: LocalEnsemble;
  let stop: () => Promise<void>;
  let client: Client;
  let kv: FencedKv;

  beforeAll(async () => {
    ({ ensemble, stop } = await startScratchEnsemble({ fencedKv: true }));
    client = await connect({ servers: ensemble.clientAddresses, sessionTimeoutMs: 30_000 });
    // A new ensemble goes over to its latest state version within a second; revocations need it.
    const agreed = async (): Promise<boolean> =>
      await client
        .lock('agreed', { lockDelayMs: 1 })
        .withLock(() => true)
        .catch(() => false);
    while (!(await agreed())) await sleep(100);
    kv = new FencedKv(ensemble.fencedKvUrl);
    await kv.bucket('jobs').create({ lock: 'jobs' });
  });

  afterAll(async () => {
    await client?.close();
    await stop?.();
  });

  it('takes the tokens of those who hold the lock, one after the other', async () => {
    for (const value of ['first', 'second']) {
      await client.lock('jobs').withLock(async (held) => {
        const jobs = await kv.bucket('jobs').fencedBy(held);
        await jobs.put('k', value);
        expect(new TextDecoder().decode((await jobs.get('k'))?.value)).toBe(value);
      });
    }
  });

  it('refuses a token that nobody was given, and that of another lock', async () => {
    const before = await kv.bucket('jobs').info();
    await expect(kv.bucket('jobs').fencedBy({ token: 2 ** 53 - 1 })).rejects.toBeInstanceOf(TokenNotGrantedError);
    await client.lock('jobs').withLock(async () => {
      // Granted later than that hold, so its token is higher.
      await client.lock('other').withLock(async (other) => {
        await expect(kv.bucket('jobs').fencedBy(other)).rejects.toBeInstanceOf(TokenNotGrantedError);
      });
    });
    expect(await kv.bucket('jobs').info()).toEqual(before);
  });

  it('takes the index by which an operator has taken the lock away', async () => {
    const held = await client.lock('jobs').acquire();
    const jobs = await kv.bucket('jobs').fencedBy(held);
    const { index } = await client.admin.revoke('jobs', held.token);
    await kv.bucket('jobs').fencedBy({ token: index });
    await expect(jobs.put('k', 'late')).rejects.toThrow();
    expect(await kv.bucket('jobs').info()).toMatchObject({ highest: index });
  });

  it('goes on under the installed token without a majority, and asks again when there is one', async () => {
    const held = await client.lock('jobs').acquire();
    const jobs = await kv.bucket('jobs').fencedBy(held);
    await ensemble.kill(1);
    await ensemble.kill(2);
    await kv
      .bucket('jobs')
      .put('free', 'v')
      .catch(() => undefined);
    await expect(kv.bucket('jobs').fencedBy({ token: held.token + 1 })).rejects.toMatchObject({
      code: 'ENSEMBLE_UNREACHABLE',
      retryable: true,
    });
    // Not through the handle, whose session may be over: the store asks nobody.
    const installed = await kv.bucket('jobs').fencedBy({ token: held.token });
    await installed.put('k', 'without a majority');
    await ensemble.restart(1);
    await ensemble.restart(2);
    await expect
      .poll(
        async () =>
          await kv
            .bucket('jobs')
            .fencedBy({ token: held.token + 1_000_000 })
            .catch((error: unknown) => error),
        { timeout: 60_000, interval: 200 },
      )
      .toBeInstanceOf(TokenNotGrantedError);
    expect(jobs.name).toBe('jobs');
  });
});
