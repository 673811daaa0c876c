import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client.ts';
import { LockLostError, SessionExpiredError, TimeoutError } from '../../src/errors.ts';
import { isCommand } from '../support/fake-ensemble.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

/** A lock that somebody holds, and a client that may wait for it. */
async function contended(): Promise<
  Scenario & { readonly holder: Client; readonly waiter: Client; readonly release: () => Promise<void> }
> {
  const all = await scenario();
  const holder = await all.connect();
  const waiter = await all.connect();
  const held = await all.world.settled(holder.lock('a').acquire());
  return { ...all, holder, waiter, release: () => all.world.settled(held.release()) };
}

describe('a wait that its caller gives up', () => {
  it('settles at once, and is cancelled in the background', async () => {
    const { world, ensemble, waiter } = await contended();
    const aborter = new AbortController();
    const acquire = waiter.lock('a').acquire({ signal: aborter.signal });
    await world.until(() => ensemble.queue('a').length === 2);
    const reason = new Error('no longer needed');
    aborter.abort(reason);
    expect(
      await world.settled(
        acquire.catch((error: unknown) => error),
        0,
      ),
    ).toBe(reason);
    await world.until(() => ensemble.queue('a').length === 1);
    expect(waiter.status().waits).toBe(0);
  });

  it('is cancelled after its reply has come, when it is given up before', async () => {
    const { world, ensemble, waiter } = await contended();
    const aborter = new AbortController();
    const acquire = world.rejection(waiter.lock('a').acquire({ signal: aborter.signal }));
    await world.until(() => ensemble.queue('a').length === 2);
    ensemble.server(1).host.paused = true;
    aborter.abort(new Error('stop'));
    await acquire;
    ensemble.server(1).host.paused = false;
    await world.until(() => ensemble.queue('a').length === 1);
    expect(ensemble.received.filter(({ message }) => isCommand(message, 'cancel'))).toHaveLength(1);
  });

  it('is given back when the grant was faster than the cancel', async () => {
    const { world, ensemble, waiter, release } = await contended();
    const acquire = waiter.lock('a').acquire({ waitMs: 1_000 });
    const outcome = world.rejection(acquire);
    await world.until(() => ensemble.queue('a').length === 2);
    // The cancel is held up at the server until the waiter has been granted the lock.
    let held = true;
    ensemble.server(1).hook = (message) => (held && isCommand(message, 'cancel') ? 'ignore' : 'handle');
    expect(await outcome).toBeInstanceOf(TimeoutError);
    await release();
    expect(ensemble.queue('a')[0]).toMatchObject({ session: waiter.sessionId });
    held = false;
    ensemble.server(1).disconnectAll();
    await world.until(() => ensemble.queue('a').length === 0);
    expect(waiter.status().holds).toBe(0);
  });

  it('was never sent when there was no server: nothing is left, for certain', async () => {
    const { world, ensemble, waiter } = await contended();
    for (const server of ensemble.servers) server.host.paused = true;
    await world.until(() => waiter.state === 'suspended');
    expect(await world.rejection(waiter.lock('a').acquire({ waitMs: 200 }))).toMatchObject({ indeterminate: false });
    expect(waiter.status().queued).toBe(0);
    for (const server of ensemble.servers) server.host.paused = false;
    await world.until(() => waiter.state === 'connected');
    expect(ensemble.requests().filter(({ command }) => command === 'acquire')).toHaveLength(1);
  });

  it('leaves no ghost although the connection is lost in between', async () => {
    const { world, ensemble, waiter, release } = await contended();
    ensemble.server(1).hook = (message) => (isCommand(message, 'acquire') ? 'apply' : 'handle');
    const outcome = world.rejection(waiter.lock('a').acquire({ waitMs: 300 }));
    await world.until(() => ensemble.queue('a').length === 2);
    await outcome;
    ensemble.server(1).host.crash();
    ensemble.leader = 2;
    await world.until(() => ensemble.queue('a').length === 1);
    await release();
    expect(ensemble.queue('a')).toEqual([]);
  });

  it('leaves no listener on its signal, however it ends', async () => {
    const { world, ensemble, holder, waiter, release } = await contended();
    const signal = new CountingSignal();
    await world.rejection(waiter.lock('a').acquire({ waitMs: 100, signal: signal.signal }));
    expect(signal.listeners).toBe(0);
    const granted = waiter.lock('a').acquire({ signal: signal.signal });
    await world.until(() => ensemble.queue('a').length === 2);
    expect(signal.listeners).toBe(1);
    await release();
    await world.settled(granted);
    expect(signal.listeners).toBe(0);
    await world.settled(holder.nodes.create('/n', '', { signal: signal.signal }));
    await world.settled(holder.nodes.get('/n', { signal: signal.signal }));
    expect(signal.listeners).toBe(0);
    await world.settled(holder.lock('b').tryAcquire({ signal: signal.signal }));
    expect(signal.listeners).toBe(0);
  });
});

describe('a wait', () => {
  it('is granted by a message, however long it takes', async () => {
    const { world, waiter, release } = await contended();
    const acquire = waiter.lock('a').acquire();
    await world.sleep(60_000);
    await release();
    (await world.settled(acquire)).assertHeld();
  });

  it('that was granted while the client was without a server is handed out when it is back', async () => {
    const { world, ensemble, waiter, holder } = await contended();
    const acquire = waiter.lock('a').acquire();
    await world.until(() => waiter.status().waits === 1);
    // The grant goes to a connection that is gone.
    ensemble.session(waiter.sessionId).send = undefined;
    ensemble.endSession(holder.sessionId, 'expired');
    ensemble.leader = 2;
    ensemble.server(1).host.crash();
    const held = await world.settled(acquire);
    expect(held.token).toBe(ensemble.queue('a')[0]?.token);
  });

  it('that an operator ended while the client was without a server fails when it is back', async () => {
    const { world, ensemble, waiter } = await contended();
    const outcome = world.rejection(waiter.lock('a').acquire());
    await world.until(() => waiter.status().waits === 1);
    ensemble.session(waiter.sessionId).send = undefined;
    ensemble.revoke(ensemble.queue('a')[1]?.acquireIndex ?? 0);
    ensemble.server(1).disconnectAll();
    expect(await outcome).toMatchObject({ code: 'LOCK_LOST', reason: 'revoked' });
  });

  it('fails when an operator ends it', async () => {
    const { world, ensemble, waiter } = await contended();
    const outcome = world.rejection(waiter.lock('a').acquire());
    await world.until(() => ensemble.queue('a').length === 2);
    ensemble.revoke(ensemble.queue('a')[1]?.acquireIndex ?? 0);
    expect(await outcome).toBeInstanceOf(LockLostError);
  });

  it('fails when the session ends', async () => {
    const { world, ensemble, waiter } = await contended();
    const outcome = world.rejection(waiter.lock('a').acquire());
    await world.until(() => ensemble.queue('a').length === 2);
    ensemble.endSession(waiter.sessionId, 'expired');
    expect(await outcome).toBeInstanceOf(SessionExpiredError);
  });
});

describe('a hold', () => {
  it('that was revoked while the client was without a server is lost when it is back', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    const kept = await world.settled(client.lock('b').acquire());
    ensemble.session(client.sessionId).send = undefined;
    ensemble.revoke(held.acquireIndex);
    ensemble.server(1).disconnectAll();
    await world.until(() => held.signal.aborted, 1_000);
    expect(held.loss).toMatchObject({ reason: 'revoked' });
    kept.assertHeld();
  });
});

/** An AbortSignal that knows how many listen to it. */
class CountingSignal {
  readonly signal = new AbortController().signal;
  listeners = 0;

  constructor() {
    const { signal } = this;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...parameters: Parameters<typeof add>) => {
      this.listeners += 1;
      add(...parameters);
    };
    signal.removeEventListener = (...parameters: Parameters<typeof remove>) => {
      this.listeners -= 1;
      remove(...parameters);
    };
  }
}
