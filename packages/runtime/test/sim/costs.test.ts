import { describe, expect, it } from 'vitest';
import { SimWorld } from '../../src/sim/index.ts';

/** A server that greets whoever dials, and when each of so many dialled at once was greeted. */
async function greetings(dials: number, costs?: { readonly acceptMs: number; readonly frameMs: number }) {
  const world = new SimWorld({ seed: 1 });
  const server = world.host('server');
  const phases: string[] = [];
  const listening = server.runtime.network.listen({
    address: 'server:1',
    maxFrameBytes: 1_000,
    onConnection: (connection) => {
      phases.push('poll');
      connection.setHandler({ frame: () => {}, close: () => {} });
      server.runtime.clock.afterPoll(() => {
        phases.push('check');
        connection.send(Uint8Array.of(1));
      });
    },
  });
  await world.complete(listening);
  if (costs !== undefined) server.setCosts(costs);
  const greetedAtMs: number[] = [];
  const begun = world.nowMs;
  for (let n = 0; n < dials; n += 1) {
    const { network } = world.host(`client-${n}`).runtime;
    void network.dial({ address: 'server:1', timeoutMs: 60_000, maxFrameBytes: 1_000 }).then((connection) => {
      connection.setHandler({ frame: () => greetedAtMs.push(world.nowMs - begun), close: () => {} });
    });
  }
  await world.run({ until: () => greetedAtMs.length === dials });
  return { greetedAtMs, phases, world, server };
}

describe('a simulated process whose work takes time', () => {
  it('does one thing after another: what comes meanwhile waits', async () => {
    const { greetedAtMs } = await greetings(100, { acceptMs: 2, frameMs: 0 });
    expect(greetedAtMs.at(-1)).toBeGreaterThanOrEqual(200);
    expect(greetedAtMs.at(-1)).toBeLessThan(210);
    expect((await greetings(100)).greetedAtMs.at(-1)).toBeLessThan(10);
  });

  it('comes to its check phase however much there is to read', async () => {
    const { phases } = await greetings(50, { acceptMs: 2, frameMs: 0 });
    expect(phases.slice(0, 30)).toContain('check');
    expect(phases.filter((phase) => phase === 'check')).toHaveLength(50);
  });

  it('has its timers late, and dies in the midst of its work', async () => {
    const { world, server } = await greetings(1, { acceptMs: 2, frameMs: 0 });
    const fired: number[] = [];
    const begun = world.nowMs;
    const { clock } = server.runtime;
    for (let n = 0; n < 100; n += 1) {
      const { network } = world.host(`more-${n}`).runtime;
      void network.dial({ address: 'server:1', timeoutMs: 60_000, maxFrameBytes: 1_000 }).catch(() => undefined);
    }
    clock.setTimer(10, () => fired.push(world.nowMs - begun));
    clock.setTimer(5_000, () => fired.push(-1));
    await world.run({ until: () => fired.length === 1 });
    expect(fired[0]).toBeGreaterThan(10);
    server.kill();
    await world.run({ forMs: 10_000 });
    expect(fired).toHaveLength(1);
  });

  it('takes the same path for the same seed', async () => {
    const costs = { acceptMs: 0.7, frameMs: 0.1 };
    const first = await greetings(50, costs);
    const second = await greetings(50, costs);
    expect(second.greetedAtMs).toEqual(first.greetedAtMs);
    expect(second.world.traceHash).toBe(first.world.traceHash);
  });
});
