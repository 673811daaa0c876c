import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/client.ts';
import { Patience } from '../../src/connection/patience.ts';
import { scenario, type Scenario } from '../support/scenario.ts';

function dialsOf({ world }: Scenario, address: string, sinceMs = 0): number[] {
  return world.dials.filter((dial) => dial.address === address && dial.atMs >= sinceMs).map(({ atMs }) => atMs);
}

describe('a server that greets later than a client waits at first', () => {
  it('is waited for twice as long each time, until it has greeted', async () => {
    const { world, ensemble, connecting } = await scenario();
    for (const server of ensemble.servers) server.greetAfterMs = 2_500;
    const client = await world.settled(connecting({ connectTimeoutMs: 30_000 }));
    expect(client.state).toBe('connected');
    expect(world.dials.length).toBeLessThan(6);
  });

  it('is waited for longer from the first dial on by who comes among many', async () => {
    const { world, ensemble, connect } = await scenario();
    ensemble.spreadMs = 2_000;
    const client = await connect({ sessionTimeoutMs: 30_000 });
    for (const server of ensemble.servers) server.greetAfterMs = 3_500;
    const before = world.dials.length;
    const at = client.status().server?.id ?? 0;
    ensemble.leader = at;
    ensemble.server(at).host.crash();
    await world.until(() => client.state === 'suspended', 10_000);
    await world.until(() => client.state === 'connected', 10_000);
    const gone = `server-${at}:7100`;
    expect(world.dials.slice(before).filter(({ address }) => address !== gone)).toHaveLength(1);
  });

  it('is not waited for longer than a third of the session timeout', async () => {
    const { world, ensemble, connecting } = await scenario();
    for (const server of ensemble.servers) server.greetAfterMs = 5_000;
    await world.rejection(connecting({ connectTimeoutMs: 30_000, sessionTimeoutMs: 6_000 }));
    const gaps = world.dials.slice(1).map(({ atMs }, n) => atMs - (world.dials[n]?.atMs ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(2_000 + 300 + 10);
    expect(Math.max(...gaps)).toBeGreaterThanOrEqual(2_000);
  });
});

describe('patience', () => {
  it('doubles up to its bound, and begins anew after a success', () => {
    const patience = new Patience(1_000, 3_000);
    const all = Array.from({ length: 4 }, () => {
      const { ms } = patience;
      patience.ranOut();
      return ms;
    });
    expect(all).toEqual([1_000, 2_000, 3_000, 3_000]);
    patience.reset();
    expect(patience.ms).toBe(1_000);
    expect(new Patience(500, 200).ms).toBe(500);
  });
});

describe('a server that says when to come again', () => {
  it('is dialled then, and not before', async () => {
    const all = await scenario();
    const { world, ensemble, connecting } = all;
    const againInMs = [900, 700, 800];
    for (const [n, server] of ensemble.servers.entries()) {
      server.goodbye = { type: 'goodbye', code: 'OVERLOADED', message: 'later', againInMs: againInMs[n] ?? 0 };
    }
    const client = connecting();
    await world.until(() => ensemble.count('hello') === 3);
    const askedMs = world.nowMs;
    for (const server of ensemble.servers) server.goodbye = undefined;
    await world.settled(client);
    const [first] = world.dials.slice(3);
    expect(first?.address).toBe('server-2:7100');
    expect((first?.atMs ?? 0) - (dialsOf(all, 'server-2:7100')[0] ?? 0)).toBeGreaterThanOrEqual(700);
    expect(world.nowMs - askedMs).toBeLessThan(800);
  });

  it('is left for one that has time, at once', async () => {
    const { world, ensemble, connect } = await scenario();
    const before = world.nowMs;
    for (const id of [1, 2]) {
      const goodbye = { type: 'goodbye', code: 'OVERLOADED', message: 'later', againInMs: 5_000 } as const;
      ensemble.server(id).goodbye = goodbye;
    }
    const client = await connect();
    expect(client.status().server?.id).toBe(3);
    expect(world.nowMs - before).toBeLessThan(100);
  });

  it('is dialled after a third of the session timeout at the latest, whatever it says', async () => {
    const { world, ensemble, connecting } = await scenario({ servers: 1 });
    ensemble.server(1).goodbye = { type: 'goodbye', code: 'OVERLOADED', message: '', againInMs: 3_600_000 };
    const client = connecting({ sessionTimeoutMs: 6_000 });
    await world.until(() => ensemble.count('hello') === 1);
    ensemble.server(1).goodbye = undefined;
    const before = world.nowMs;
    await world.settled(client);
    expect(world.nowMs - before).toBeLessThan(2_100);
  });
});

describe('a leader whose connection was lost', () => {
  it('is not dialled on the word of a follower that has not noticed yet', async () => {
    const all = await scenario();
    const { world, ensemble, connect } = all;
    const client = await connect();
    ensemble.server(1).host.crash();
    const lostMs = world.nowMs;
    await world.until(() => client.state === 'suspended');
    await world.until(() => client.state === 'connected');
    await world.sleep(3_000);
    const { members, term, spreadMs } = ensemble;
    for (const id of [2, 3]) ensemble.server(id).broadcast({ type: 'leader', leader: 1, members, term, spreadMs });
    await world.sleep(1_000);
    expect(dialsOf(all, 'server-1:7100', lostMs + 1)).toEqual([]);
  });

  it('is the leader again when its followers still name it after they would have noticed its death', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.server(1).disconnectAll();
    await world.until(() => client.status().server?.id !== 1);
    await world.until(() => client.status().server?.id === 1, 10_000);
  });

  it('is the leader again at once when somebody says so in a newer term', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.leader = 2;
    ensemble.server(1).disconnectAll();
    await world.until(() => client.status().server !== undefined && client.status().server?.id !== 1);
    await world.sleep(2_000);
    ensemble.setLeader(1);
    await world.until(() => client.status().server?.id === 1, 1_000);
  });
});

describe('many clients that lose their server at once', () => {
  /** When each dial was made after the loss; who has noticed it does not dial the server that was lost. */
  async function lose(spreadMs: number, sessionTimeoutMs: number): Promise<number[]> {
    const { world, ensemble, connecting } = await scenario();
    ensemble.spreadMs = spreadMs;
    const connecting50 = Array.from({ length: 50 }, () => connecting({ sessionTimeoutMs }));
    const clients: Client[] = await world.settled(Promise.all(connecting50));
    await world.sleep(60_000);
    const [at = 0] = clients.map((client) => client.status().server?.id ?? 0);
    const there = clients.filter((client) => client.status().server?.id === at);
    const sinceMs = world.nowMs;
    ensemble.leader = at === 2 ? 3 : 2;
    ensemble.term += 1;
    ensemble.server(at).host.crash();
    await world.until(() => there.every(({ state }) => state === 'suspended'));
    await world.until(() => there.every(({ state }) => state === 'connected'));
    const times = world.dials.filter(({ atMs }) => atMs > sinceMs).map(({ atMs }) => atMs - sinceMs);
    expect(times.length).toBeGreaterThanOrEqual(there.length);
    const gone = world.dials.filter((dial) => dial.address === `server-${at}:7100` && dial.atMs > sinceMs);
    expect(gone.length).toBeLessThanOrEqual(clients.length - there.length);
    return times;
  }

  it('come to the others over as long a time as they were told', async () => {
    const times = await lose(2_000, 30_000);
    expect(times.filter((ms) => ms < 1_000).length).toBeGreaterThan(10);
    expect(times.filter((ms) => ms >= 1_000 && ms <= 2_010).length).toBeGreaterThan(10);
  });

  it('take no more than a sixth of their session timeout', async () => {
    expect(Math.max(...(await lose(20_000, 12_000)))).toBeLessThanOrEqual(2_010);
  });

  it('come at once when they are few', async () => {
    expect(Math.max(...(await lose(5, 30_000)))).toBeLessThan(20);
  });
});
