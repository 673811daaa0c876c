import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../src/errors.ts';
import { webLocks, type WebLockOptions } from '../../src/facades/web-locks.ts';
import { scenario } from '../support/scenario.ts';

describe('the façade of Web Locks', () => {
  it('lets in together those who share a lock, and alone who does not', async () => {
    const { world, ensemble, connect } = await scenario();
    const [one, two] = [webLocks(await connect()), webLocks(await connect())];
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const modes: string[] = [];
    const sharing = [one, two].map((locks) =>
      locks.request('r', { mode: 'shared' }, async ({ mode, name }) => {
        modes.push(`${mode} ${name}`);
        await finished;
      }),
    );
    await world.until(() => modes.length === 2);
    const alone = one.request('r', { mode: 'exclusive' }, ({ mode }) => mode);
    await world.until(() => ensemble.queue('r').length === 3);
    expect(await world.settled(two.request('r', { mode: 'shared', ifAvailable: true }, (lock) => lock))).toBeNull();
    finish();
    await world.settled(Promise.all(sharing));
    expect(await world.settled(alone)).toBe('exclusive');
    expect(modes).toEqual(['shared r', 'shared r']);
    const shared: WebLockOptions & { readonly ifAvailable: true } = { mode: 'shared', ifAvailable: true };
    expect(await world.settled(two.request('r', shared, (lock) => lock?.mode))).toBe('shared');
    expect(ensemble.queue('r')).toEqual([]);
  });

  it('tells of each who holds or waits whether it shares', async () => {
    const { world, ensemble, connect } = await scenario();
    const [client, other] = [await connect(), await connect()];
    await world.settled(client.readWriteLock('r').read().acquire());
    const writing = other.readWriteLock('r').write().acquire();
    await world.until(() => ensemble.queue('r').length === 2);
    await world.settled(client.lock('m').acquire());
    await world.settled(client.semaphore('s', { permits: 2 }).acquire());
    const clientId = String(client.sessionId);
    const { held, pending } = await world.settled(webLocks(client).query());
    expect(held).toEqual([
      { name: 'm', mode: 'exclusive', clientId },
      { name: 'r', mode: 'shared', clientId },
      { name: 's', mode: 'shared', clientId },
    ]);
    expect(pending).toEqual([{ name: 'r', mode: 'exclusive', clientId: String(other.sessionId) }]);
    const failed = world.rejection(writing);
    await world.settled(other.close());
    await failed;
  });

  it('is refused a name that is in use as a plain lock', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    await world.settled(client.lock('p').acquire());
    const error = await world.rejection(webLocks(client).request('p', () => undefined));
    expect(error).toBeInstanceOf(InvalidArgumentError);
  });

  it('refuses a mode that there is not, and to steal', async () => {
    const { world, connect } = await scenario();
    const locks = webLocks(await connect());
    const wrong = locks.request('r', { mode: 'odd' as 'shared' }, () => undefined);
    expect(((await world.rejection(wrong)) as Error).message).toBe('mode is "odd"; it must be "exclusive" or "shared"');
    expect(await world.rejection(locks.request('r', { steal: true }, () => undefined))).toMatchObject({
      name: 'NotSupportedError',
    });
  });
});
