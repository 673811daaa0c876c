import { describe, expect, it } from 'vitest';
import type { Client } from '../src/client.ts';
import { InvalidArgumentError } from '../src/errors.ts';
import { fencedLock } from '../src/facades/hazelcast.ts';
import { webLocks } from '../src/facades/web-locks.ts';
import { scenario } from './support/scenario.ts';

/** Every call of a client that takes options, with `wrong` in their place. */
const calls: Readonly<Record<string, (client: Client, wrong: object) => unknown>> = {
  'nodes.create': ({ nodes }, wrong) => nodes.create('/a', '', wrong),
  'nodes.get': ({ nodes }, wrong) => nodes.get('/a', wrong),
  'nodes.exists': ({ nodes }, wrong) => nodes.exists('/a', wrong),
  'nodes.set': ({ nodes }, wrong) => nodes.set('/a', '', wrong),
  'nodes.delete': ({ nodes }, wrong) => nodes.delete('/a', wrong),
  'nodes.children': ({ nodes }, wrong) => nodes.children('/a', wrong),
  'nodes.childrenPage': ({ nodes }, wrong) => nodes.childrenPage('/a', wrong),
  'nodes.descendants': ({ nodes }, wrong) => nodes.descendants('/a', wrong),
  'nodes.transaction': ({ nodes }, wrong) => nodes.transaction([], wrong),
  'nodes.sync': ({ nodes }, wrong) => nodes.sync(wrong),
  'nodes.watch': ({ nodes }, wrong) => nodes.watch('/a', wrong),
  'nodes.getAndWatch': ({ nodes }, wrong) => nodes.getAndWatch('/a', wrong),
  'nodes.childrenAndWatch': ({ nodes }, wrong) => nodes.childrenAndWatch('/a', wrong),
  'lock.acquire': (client, wrong) => client.lock('a').acquire(wrong),
  'lock.tryAcquire': (client, wrong) => client.lock('a').tryAcquire(wrong),
  'lock.withLock': (client, wrong) => client.lock('a').withLock(() => undefined, wrong),
  'lock.watch': (client, wrong) => client.lock('a').watch(wrong),
  'client.lock': (client, wrong) => client.lock('a', wrong),
  'client.readWriteLock': (client, wrong) => client.readWriteLock('a', wrong),
  'client.locks': (client, wrong) => client.locks(['a', 'b'], wrong),
  'client.semaphore': (client, wrong) => client.semaphore('a', { permits: 2, ...wrong }),
  'reentrantLock.acquire': (client, wrong) => client.lock('a', { reentrant: true }).acquire(wrong),
  'reentrantLock.tryAcquire': (client, wrong) => client.lock('a', { reentrant: true }).tryAcquire(wrong),
  'reentrantLock.withLock': (client, wrong) => client.lock('a', { reentrant: true }).withLock(() => undefined, wrong),
  'reentrantLock.watch': (client, wrong) => client.lock('a', { reentrant: true }).watch(wrong),
  'readWriteLock.read': (client, wrong) => client.readWriteLock('a').read().acquire(wrong),
  'readWriteLock.write': (client, wrong) => client.readWriteLock('a').write().acquire(wrong),
  'readWriteLock.watch': (client, wrong) => client.readWriteLock('a').watch(wrong),
  'semaphore.acquire': (client, wrong) => client.semaphore('a', { permits: 2 }).acquire(wrong),
  'semaphore.tryAcquire': (client, wrong) => client.semaphore('a', { permits: 2 }).tryAcquire(wrong),
  'semaphore.withLock': (client, wrong) => client.semaphore('a', { permits: 2 }).withLock(() => undefined, wrong),
  'semaphore.lock': (client, wrong) => client.semaphore('a', { permits: 2 }).lock(wrong),
  'semaphore.watch': (client, wrong) => client.semaphore('a', { permits: 2 }).watch(wrong),
  'locks.acquire': (client, wrong) => client.locks(['a', 'b']).acquire(wrong),
  'locks.watch': (client, wrong) => client.locks(['a', 'b']).watch(wrong),
  fencedLock: (client, wrong) => fencedLock(client, 'a', wrong),
  'fencedLock.lock': (client, wrong) => fencedLock(client, 'a').lock(wrong),
  'webLocks.request': (client, wrong) => webLocks(client).request('a', wrong, () => undefined),
  'admin.locks': ({ admin }, wrong) => admin.locks('', wrong).next(),
  'admin.lock': ({ admin }, wrong) => admin.lock('a', wrong),
  'admin.sessions': ({ admin }, wrong) => admin.sessions(wrong).next(),
  'admin.closeSession': ({ admin }, wrong) => admin.closeSession(1, wrong),
  'admin.revoke': ({ admin }, wrong) => admin.revoke('a', 1, wrong),
  'admin.endLockDelay': ({ admin }, wrong) => admin.endLockDelay('a', wrong),
  'admin.requestRelease': ({ admin }, wrong) => admin.requestRelease('a', 1, wrong),
  'admin.deadlocks': ({ admin }, wrong) => admin.deadlocks(wrong).next(),
  'admin.transferLeadership': ({ admin }, wrong) => admin.transferLeadership(1, wrong),
  'admin.members': ({ admin }, wrong) => admin.members(wrong),
  'admin.addMember': ({ admin }, wrong) => admin.addMember(4, 'host:1', { joinSecret: '', ...wrong }),
  'admin.promoteMember': ({ admin }, wrong) => admin.promoteMember(4, wrong),
  'admin.removeMember': ({ admin }, wrong) => admin.removeMember(4, wrong),
  'barrier.wait': (client, wrong) => client.barrier('a').wait(wrong),
  'barrier.close': (client, wrong) => client.barrier('a').close(wrong),
  'barrier.open': (client, wrong) => client.barrier('a').open(wrong),
  'latch.set': (client, wrong) => client.latch('a').set(1, wrong),
  'counter.add': (client, wrong) => client.counter('a').add(1, wrong),
  'counter.get': (client, wrong) => client.counter('a').get(wrong),
  'queue.put': (client, wrong) => client.queue('a').put('', wrong),
  'queue.take': (client, wrong) => client.queue('a').take(wrong),
  'queue.size': (client, wrong) => client.queue('a').size(wrong),
  'group.join': (client, wrong) => client.group('a').join('me', wrong),
  'group.members': (client, wrong) => client.group('a').members(wrong),
  'election.campaign': (client, wrong) => client.election('a').campaign(wrong).next(),
  'election.leader': (client, wrong) => client.election('a').leader(wrong),
  'client.releaseOnExit': (client, wrong) => client.releaseOnExit(wrong),
  'client.doubleBarrier': (client, wrong) => client.doubleBarrier('a', { parties: 2, ...wrong }),
};

describe('an option that the call has not', () => {
  it.each(Object.keys(calls))('is refused by %s, before anything is sent', async (name) => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const received = ensemble.received.length;
    // oxlint-disable-next-line typescript/await-thenable -- some of the calls are synchronous
    const error = await world.rejection((async () => await calls[name]?.(client, { timoutMs: 5 }))());
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toMatch(/has no option "timoutMs"/);
    expect(ensemble.received.length).toBe(received);
  });

  it.each([['nodes.get'], ['nodes.set'], ['admin.members']])(
    'nor is a limit that is no number taken by %s',
    async (name) => {
      const { world, connect } = await scenario();
      const client = await connect();
      // oxlint-disable-next-line typescript/await-thenable -- some of the calls are synchronous
      const error = await world.rejection((async () => await calls[name]?.(client, { timeoutMs: '5' }))());
      expect((error as Error).message).toMatch(/timeoutMs is 5; it must be a number/);
    },
  );

  it('nor is a consistency that there is not', async () => {
    const { world, connect } = await scenario();
    const client = await connect();
    const error = await world.rejection(client.nodes.get('/a', { consistency: 'eventual' as 'local' }));
    expect((error as Error).message).toMatch(/consistency is "eventual"/);
  });
});
