import type { LockEvent } from '@holdfast/client';
import { describe, expect, it } from 'vitest';
import { started } from '../support/simulated-ensemble.ts';

function inWords({ type, path, index }: { readonly type: string; readonly path: string; readonly index: number }) {
  return `${type} ${path} ${index}`;
}

describe('a client that watches an ensemble whose servers come and go', () => {
  it.each([1, 2, 3, 4])(
    'is told what every answered write has done, once, in order and at its index (seed %i)',
    async (seed) => {
      const ensemble = await started(seed);
      const { world } = ensemble;
      const random = world.random('faults');
      const watcher = await ensemble.connect({ sessionTimeoutMs: 60_000, requestTimeoutMs: 60_000 });
      const writer = await ensemble.connect({ sessionTimeoutMs: 60_000, requestTimeoutMs: 60_000 });
      await ensemble.complete(writer.nodes.create('/a'));
      const watch = watcher.nodes.watch('/a', { recursive: true });
      await ensemble.complete(watch.started);
      const heard: string[] = [];
      const listening = (async () => {
        for await (const event of watch) {
          heard.push(inWords(event));
          if (event.path === '/a/last') return;
        }
      })();

      let victim = 0;
      let restarts = 0;
      const written: string[] = [];
      for (let n = 0; n < 150; n += 1) {
        if (n % 40 === 10) {
          // The leader, or the server that has the watches.
          victim = (n % 80 === 10 ? ensemble.leader : watcher.status().server?.id) ?? 0;
          if (victim !== 0) ensemble.stopHard(victim);
        } else if (n % 40 === 30 && victim !== 0) {
          await ensemble.startServer(victim);
          restarts += 1;
        }
        const path = `/a/${n % 4}`;
        const stat = await ensemble.complete(writer.nodes.exists(path));
        if (stat === undefined) {
          const made = await ensemble.complete(writer.nodes.create(path));
          written.push(`created ${path} ${made.stat.czxid}`);
        } else if (n % 5 === 0) {
          await ensemble.complete(writer.nodes.delete(path));
          written.push(`deleted ${path}`);
        } else {
          const { mzxid } = await ensemble.complete(writer.nodes.set(path, String(n)));
          written.push(`changed ${path} ${mzxid}`);
        }
        await world.run({ untilMs: world.nowMs + random.integer(60) });
      }
      written.push(`created /a/last ${(await ensemble.complete(writer.nodes.create('/a/last'))).stat.czxid}`);
      await ensemble.complete(listening);
      expect(heard.map((text) => (text.startsWith('deleted') ? text.replace(/ \d+$/, '') : text))).toEqual(written);
      expect(restarts).toBeGreaterThan(1);
    },
  );

  it('reads nothing that it was not told before', async () => {
    const ensemble = await started(9);
    const client = await ensemble.connect();
    const other = await ensemble.connect();
    let told = 0;
    void (async () => {
      for await (const event of client.nodes.watch('/n')) told = event.index;
    })().catch(() => undefined);
    await ensemble.complete(client.nodes.exists('/n'));
    await ensemble.complete(other.nodes.create('/n'));
    for (let n = 0; n < 30; n += 1) {
      const write = (n % 2 === 0 ? other : client).nodes.set('/n', String(n));
      const { stat } = await ensemble.complete(client.nodes.get('/n', { consistency: 'local' }));
      expect(told).toBeGreaterThanOrEqual(stat.mzxid);
      const { mzxid } = await ensemble.complete(write);
      if (n % 2 === 1) expect(told).toBeGreaterThanOrEqual(mzxid);
    }
  });
});

describe('the watch of a lock', () => {
  const told = ({ type, place, holders, waiters, before }: LockEvent) =>
    [type, place?.label ?? '-', holders.map(({ label }) => label).join() || '-', waiters, before ?? '-'].join(' ');

  it('tells who holds it, who waits, and how many come before', async () => {
    const ensemble = await started(3);
    const [ann, bob, cid] = [
      await ensemble.connect({ label: 'ann' }),
      await ensemble.connect({ label: 'bob' }),
      await ensemble.connect({ label: 'cid' }),
    ];
    const heldByAnn = await ensemble.complete(ann.lock('a/b').acquire());
    const waitOfBob = bob.lock('a/b').acquire();
    await ensemble.until(() => ensemble.server(ensemble.leader).state.counts.waits === 1);
    const events: string[] = [];
    const tokens: number[] = [];
    const loop = (async () => {
      for await (const event of cid.lock('a/b').watch()) {
        events.push(told(event));
        if (event.type === 'granted') tokens.push(event.place?.token ?? 0);
        if (event.type === 'left') return;
      }
    })();
    await ensemble.until(() => events.length === 1);
    const abort = new AbortController();
    const waitOfCid = cid.lock('a/b').acquire();
    await ensemble.until(() => events.length === 2);
    await ensemble.complete(heldByAnn.release());
    const heldByBob = await ensemble.complete(waitOfBob);
    await ensemble.until(() => events.length === 4);
    const again = ann.lock('a/b').acquire({ signal: abort.signal });
    again.catch(() => undefined);
    await ensemble.until(() => events.length === 5);
    await ensemble.complete(heldByBob.release());
    const heldByCid = await ensemble.complete(waitOfCid);
    await ensemble.until(() => events.length === 7);
    abort.abort();
    await ensemble.complete(loop);
    expect(events).toEqual([
      'state - ann 1 -',
      'waiting cid ann 2 2',
      'released ann - 2 1',
      'granted bob bob 1 1',
      'waiting ann bob 2 1',
      'released bob - 2 0',
      'granted cid cid 1 0',
      'left ann cid 0 0',
    ]);
    expect(tokens).toEqual([heldByBob.token, heldByCid.token]);
  });

  it('of a lock that nobody holds begins with that', async () => {
    const ensemble = await started(4);
    const [ann, bob] = [await ensemble.connect({ label: 'ann' }), await ensemble.connect({ label: 'bob' })];
    const events: string[] = [];
    const loop = (async () => {
      for await (const event of bob.lock('l').watch()) {
        events.push(told(event));
        if (event.type === 'released') return;
      }
    })();
    await ensemble.until(() => events.length === 1);
    const held = await ensemble.complete(ann.lock('l').acquire());
    await ensemble.complete(held.release());
    await ensemble.complete(loop);
    expect(events).toEqual(['state - - 0 -', 'granted ann ann 0 -', 'released ann - 0 -']);
  });
});
