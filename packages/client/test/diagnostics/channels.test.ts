import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  acquireStarted,
  DIAGNOSTICS_CHANNELS,
  type AcquireMessage,
  type ClientEventMessage,
  type HoldMessage,
} from '../../src/diagnostics/channels.ts';
import { scenario } from '../support/scenario.ts';

/** What is published from now on until the test ends; of each message a copy, as it was. */
function published(): { readonly name: string; readonly message: unknown; readonly copy: unknown }[] {
  const all: { readonly name: string; readonly message: unknown; readonly copy: unknown }[] = [];
  for (const name of Object.values(DIAGNOSTICS_CHANNELS)) {
    const listener = (message: unknown): void => void all.push({ name, message, copy: { ...(message as object) } });
    subscribe(name, listener);
    onTestFinished(() => void unsubscribe(name, listener));
  }
  return all;
}

describe('what a client publishes', () => {
  it('is each acquire and each hold, from beginning to end', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    const all = published();
    const held = await world.settled(client.lock('a').acquire({ waitMs: 500 }));
    await world.settled(held.release());
    expect(all.map(({ name }) => name)).toEqual([
      'holdfast:acquire:start',
      'holdfast:acquire:end',
      'holdfast:hold:start',
      'holdfast:hold:end',
    ]);
    const { sessionId } = client;
    expect(all[0]?.copy).toMatchObject({ lock: 'a', locks: ['a'], mode: 'exclusive', waitMs: 500, sessionId });
    expect(all[0]?.copy).toMatchObject({ outcome: undefined });
    expect(all[1]?.copy).toMatchObject({ outcome: 'held', token: held.token, error: undefined });
    expect(all[2]?.copy).toMatchObject({ lock: 'a', token: held.token, sessionId, reason: undefined });
    expect(all[3]?.copy).toMatchObject({ reason: 'released' });
    expect(all[1]?.message).toBe(all[0]?.message);
    expect(all[3]?.message).toBe(all[2]?.message);
    expect((all[2]?.message as HoldMessage | undefined)?.acquire).toBe(all[0]?.message);
  });

  it('says why there is no hold, and why a hold was lost', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    const held = await world.settled(other.lock('a').acquire());
    const all = published();
    const lock = client.lock('a');
    await world.settled(lock.tryAcquire());
    await world.settled(lock.tryAcquire({ waitMs: 100 }));
    const reason = new Error('enough');
    await world.settled(lock.tryAcquire({ signal: AbortSignal.abort(reason) }));
    const closed = world.settled(lock.tryAcquire({ waitMs: 5_000 }).catch(() => undefined));
    await world.sleep(100);
    ensemble.endSession(client.sessionId, 'expired');
    await closed;
    const ends = all.filter(({ name }) => name === 'holdfast:acquire:end').map(({ copy }) => copy as AcquireMessage);
    expect(ends.map(({ outcome }) => outcome)).toEqual(['lockHeld', 'timeout', 'aborted', 'failed']);
    expect(ends[2]?.error).toBe(reason);
    expect(ends[3]?.error).toMatchObject({ code: 'SESSION_EXPIRED' });
    const events = all.filter(({ name }) => name === 'holdfast:event').map(({ copy }) => copy as ClientEventMessage);
    expect(events).toMatchObject([{ event: { type: 'expired', sessionId: client.sessionId } }]);

    const next = other.lock('b').acquire();
    ensemble.revoke((await world.settled(next)).acquireIndex);
    await world.until(() => all.some(({ name }) => name === 'holdfast:hold:end'));
    expect(all.at(-1)?.copy).toMatchObject({ lock: 'b', reason: 'revoked' });
    expect(held.loss).toBeUndefined();
  });

  it('names all locks that are taken at once, and how they are held', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    const all = published();
    const locks = client.locks(['b', client.readWriteLock('a').write()]);
    await world.settled((await world.settled(locks.acquire())).release());
    const several = { lock: 'b', locks: ['b', 'a'], mode: 'exclusive' };
    expect(all.map(({ copy }) => copy)).toMatchObject([several, several, several, several]);
    const held = await world.settled(client.readWriteLock('c').write().acquire());
    await world.settled(held.downgrade());
    expect(all.at(-1)?.copy).toMatchObject({ lock: 'c', mode: 'write', permits: undefined, reason: undefined });
  });

  it('says how many permits of a semaphore are asked for and held', async () => {
    const { world, connect } = await scenario();
    const imports = (await connect()).semaphore('imports', { permits: 4 });
    const all = published();
    await world.settled((await world.settled(imports.acquire({ permits: 3 }))).release());
    expect(all).toHaveLength(4);
    const three = { lock: 'imports', locks: ['imports'], mode: 'shared', permits: 3 };
    expect(all.map(({ copy }) => copy)).toMatchObject([three, three, three, three]);
  });

  it('is an acquire and a hold for each entry of a reentrant lock', async () => {
    const { world, connect } = await scenario();
    const lock = (await connect()).lock('a', { reentrant: true });
    const all = published();
    await world.settled(lock.withLock(() => lock.withLock((held) => held.token)));
    expect(all.map(({ name }) => name.replace('holdfast:', ''))).toEqual([
      'acquire:start',
      'acquire:end',
      'hold:start',
      'acquire:start',
      'acquire:end',
      'hold:start',
      'hold:end',
      'hold:end',
    ]);
    expect(new Set(all.filter(({ name }) => name === 'holdfast:hold:end').map(({ message }) => message)).size).toBe(2);
  });

  it('is nothing while nobody listens: an acquire allocates nothing for it', () => {
    const rounds = 20_000;
    const wanted = { lock: 'a', locks: ['a'], mode: 'exclusive', permits: undefined } as const;
    let messages = 0;
    const allocated = (): number => {
      const before = process.memoryUsage().heapUsed;
      for (let n = 0; n < rounds; n += 1) if (acquireStarted(wanted, 1, 1) !== undefined) messages += 1;
      return process.memoryUsage().heapUsed - before;
    };
    allocated();
    // A collection in between makes a measurement small, other work makes it large.
    const silent = Math.min(...Array.from({ length: 5 }, allocated));
    expect(messages).toBe(0);
    published();
    const heard = Math.max(...Array.from({ length: 5 }, allocated));
    expect(messages).toBe(5 * rounds);
    expect(heard).toBeGreaterThan(rounds * 32);
    expect(silent).toBeLessThan(rounds);
  });
});
