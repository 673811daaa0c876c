import type { AdminAnswer } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import { isCommand } from '../support/fake-ensemble.ts';
import { scenario } from '../support/scenario.ts';

describe('a client whose server dies', () => {
  it('goes on at another within a few milliseconds, and the application sees no error', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.server(1).host.crash();
    ensemble.leader = 2;
    const before = world.nowMs;
    await world.settled(client.lock('a').withLock(() => undefined));
    expect(world.nowMs - before).toBeLessThan(300);
    expect(client.state).toBe('connected');
  });

  it('tells of it: suspended, then connected again, with the same session', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const events: string[] = [];
    for (const type of ['connected', 'suspended', 'expired', 'closed'] as const) {
      client.events.on(type, (event) =>
        events.push(`${event.type} ${event.server ?? '-'} ${event.sessionId === client.sessionId}`),
      );
    }
    ensemble.leader = 2;
    ensemble.server(1).host.crash();
    await world.until(() => events.length === 2);
    expect(events).toEqual(['suspended server-1:7100 true', 'connected server-2:7100 true']);
  });

  it('keeps its holds while the lease runs', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    ensemble.leader = 3;
    ensemble.server(1).host.crash();
    await world.until(() => client.state === 'suspended');
    held.assertHeld();
    await world.until(() => client.state === 'connected');
    await world.settled(held.release());
  });

  it('sends the unanswered requests again, in order, and each takes effect once', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    await world.settled(client.nodes.create('/n'));
    // The leader applies the first, loses its answer, and never sees the others.
    let seen = 0;
    ensemble.server(1).hook = (message) => {
      if (message.type !== 'request') return 'handle';
      seen += 1;
      return seen === 1 ? 'apply' : 'ignore';
    };
    const writes = ['one', 'two', 'three'].map((data) => client.nodes.set('/n', data));
    await world.until(() => seen === 3);
    ensemble.leader = 2;
    ensemble.server(1).host.crash();
    await world.settled(Promise.all(writes));
    const again = ensemble.requests().filter(({ server }) => server !== 1);
    expect(again.map(({ number }) => number)).toEqual([2, 3, 4]);
    expect(ensemble.applied.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
    expect(new TextDecoder().decode(ensemble.nodes.get('/n'))).toBe('three');
  });

  it('asks its reads again', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    await world.settled(client.nodes.create('/n', 'x'));
    ensemble.server(1).hook = (message) => (message.type === 'read' ? 'ignore' : 'handle');
    const read = client.nodes.get('/n');
    await world.until(() => ensemble.count('read') === 1);
    ensemble.server(1).host.crash();
    expect(new TextDecoder().decode((await world.settled(read)).data)).toBe('x');
  });
});

describe('a server that has stopped and keeps its sockets open', () => {
  it('is left after a ping without an answer, and the call under way succeeds elsewhere', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.server(1).host.paused = true;
    const before = world.nowMs;
    await world.settled(client.lock('a').withLock(() => undefined));
    expect(world.nowMs - before).toBeLessThan(1_900);
    expect(client.status().server?.id).not.toBe(1);
  });

  it('is found by the heartbeat when nothing else is under way', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    ensemble.server(1).host.paused = true;
    await world.until(() => client.state === 'suspended', 6_000);
    await world.until(() => client.state === 'connected', 1_500);
    held.assertHeld();
  });

  it('is not mistaken for one that only takes long: an answered ping keeps the connection', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.server(1).hook = (message) => (message.type === 'request' ? 'ignore' : 'handle');
    const write = client.nodes.create('/slow', '', { timeoutMs: 3_000 });
    const outcome = world.rejection(write);
    await outcome;
    expect(ensemble.count('ping')).toBeGreaterThan(2);
    expect(client.status().server?.id).toBe(1);
  });

  it('is not mistaken for this process having been busy: the sockets are read first', async () => {
    const { world, ensemble, host, connect } = await scenario();
    const client = await connect();
    ensemble.server(1).host.paused = true;
    const write = client.nodes.create('/busy');
    await world.sleep(500);
    ensemble.server(1).host.paused = false;
    await world.until(() => ensemble.count('ping') === 1);
    // The pong and the answer arrive while nobody reads them.
    host.block(8_000);
    await world.settled(write);
    expect(client.status().server?.id).toBe(1);
    expect(ensemble.count('attach')).toBe(1);
  });
});

describe('the choice of a server', () => {
  it('goes on from a follower to the leader before it attaches', async () => {
    const { ensemble, connect } = await scenario();
    ensemble.leader = 2;
    for (let round = 0; round < 5; round += 1) expect((await connect()).status().server?.id).toBe(2);
    expect(ensemble.received.filter(({ message, server }) => message.type === 'attach' && server !== 2)).toEqual([]);
    expect(ensemble.server(1).connections + ensemble.server(3).connections).toBe(0);
  });

  it('stays where it is when told so', async () => {
    const { ensemble, connect } = await scenario();
    ensemble.leader = 2;
    const client = await connect({ servers: [ensemble.server(3).address], preferLeader: false });
    expect(client.status().server?.id).toBe(3);
  });

  it('attaches to the follower when the leader that it tells of is dead', async () => {
    const { ensemble, connect } = await scenario();
    ensemble.server(1).host.crash();
    const client = await connect();
    expect(client.status().server?.id).not.toBe(1);
  });

  it('moves to a new leader once, and what is under way ends well', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    const waiting = client.lock('a').acquire();
    await world.until(() => ensemble.queue('a').length === 2);
    const states: string[] = [];
    client.events.on('suspended', (event) => states.push(event.type));
    ensemble.setLeader(3);
    ensemble.setLeader(3);
    await world.until(() => client.status().server?.id === 3);
    expect(ensemble.server(1).connections).toBe(0);
    await world.settled(held.release());
    expect((await world.settled(waiting)).token).toBeGreaterThan(held.token);
    expect(states).toEqual([]);
    expect(ensemble.received.filter(({ message }) => message.type === 'attach')).toHaveLength(2);
  });

  it('is not tried again and again when the leader cannot be reached from here', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.server(3).goodbye = { type: 'goodbye', code: 'OVERLOADED', message: 'too many connections' };
    const hellos = (): number =>
      ensemble.received.filter(({ message, server }) => message.type === 'hello' && server === 3).length;
    const before = hellos();
    for (let round = 0; round < 5; round += 1) {
      ensemble.setLeader(3);
      await world.sleep(3_000);
    }
    expect(hellos() - before).toBe(1);
    expect(client.status().server?.id).toBe(1);
  });

  it('learns of servers that it was not told of', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect({ servers: [ensemble.server(1).address] });
    ensemble.leader = 2;
    ensemble.server(1).host.crash();
    await world.settled(client.lock('a').withLock(() => undefined));
    expect(client.status().server?.id).toBe(2);
  });

  it('does not end in a storm when two clients fight for one session', async () => {
    const { world, ensemble, connect } = await scenario();
    await connect();
    for (const server of ensemble.servers) {
      server.hook = (message) => {
        if (message.type !== 'attach') return 'handle';
        world.soon(() => server.broadcast({ type: 'goodbye', code: 'SESSION_MOVED', message: '' }));
        return 'handle';
      };
    }
    ensemble.server(1).disconnectAll();
    const before = ensemble.count('attach');
    await world.sleep(5_000);
    expect(ensemble.count('attach') - before).toBeLessThan(200);
  });
});

describe('a server that asks its clients to leave', () => {
  it('is left for another before its connection closes; nothing is suspended and nothing fails', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const held = await world.settled(client.lock('a').acquire());
    const waiting = client.lock('a').acquire();
    await world.until(() => ensemble.queue('a').length === 2);
    const states: string[] = [];
    client.events.on('suspended', (event) => states.push(event.type));
    const from = client.status().server?.id ?? 0;
    ensemble.server(from).goodbye = { type: 'goodbye', code: 'SHUTTING_DOWN', message: '' };
    ensemble.server(from).broadcast({ type: 'leave' });
    const before = world.nowMs;
    await world.until(() => ensemble.server(from).connections === 0);
    expect(world.nowMs - before).toBeLessThan(300);
    expect(client.status().server?.id).not.toBe(from);
    await world.settled(held.release());
    expect((await world.settled(waiting)).token).toBeGreaterThan(held.token);
    expect(states).toEqual([]);
  });

  it('is not left as long as there is no other, and a loss in the meantime is an ordinary one', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const from = client.status().server?.id ?? 0;
    for (const server of ensemble.servers) {
      server.goodbye = { type: 'goodbye', code: 'SHUTTING_DOWN', message: '' };
    }
    ensemble.server(from).broadcast({ type: 'leave' });
    await world.sleep(1_000);
    expect(client.status().server?.id).toBe(from);
    ensemble.server(from).disconnectAll();
    await world.until(() => client.state === 'suspended');
    for (const server of ensemble.servers) server.goodbye = undefined;
    await world.until(() => client.state === 'connected');
    expect(ensemble.count('attach')).toBe(2);
  });
});

describe('a server that knows less', () => {
  it('is not asked for what it does not offer', async () => {
    const { world, ensemble, connect } = await scenario();
    for (const server of ensemble.servers) server.features = 0;
    const client = await connect();
    await expect(world.settled(client.admin.transferLeadership(2))).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    expect(ensemble.count('admin')).toBe(0);
  });

  it('and one that speaks a version which the client does not is refused, and says so', async () => {
    const { world, ensemble, connecting } = await scenario();
    for (const server of ensemble.servers) server.version = 9;
    await expect(world.settled(connecting())).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      message: expect.stringContaining('the server speaks protocol version 9, this client version 1'),
    });
  });

  it('and one that demands what the client does not know is refused with the bits', async () => {
    const { world, ensemble, connecting } = await scenario();
    for (const server of ensemble.servers) server.required = 2 ** 33;
    await expect(world.settled(connecting())).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('bit 33'),
    });
  });
});

describe('a transfer of leadership that was asked for', () => {
  it('is asked for again elsewhere when it names the server, and has an unknown outcome when it does not', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.server(1).hook = (message) => (message.type === 'admin' ? 'ignore' : 'handle');
    const named = client.admin.transferLeadership(3);
    const unnamed = client.admin.transferLeadership();
    unnamed.catch(() => undefined);
    await world.until(() => ensemble.count('admin') === 2);
    ensemble.server(1).host.crash();
    expect(await world.settled(named)).toBe(3);
    await expect(unnamed).rejects.toMatchObject({ code: 'LEADER_CHANGED', indeterminate: true });
    expect(ensemble.count('admin')).toBe(3);
  });
});

describe('a change of the members whose answer was lost', () => {
  const refused = { type: 'error', code: 'MEMBERSHIP_REFUSED', message: 'wait for the other change' } as const;

  async function lostAndAnswered(answer: AdminAnswer): Promise<unknown> {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    ensemble.server(1).hook = (message) => (message.type === 'admin' ? 'ignore' : 'handle');
    for (const server of ensemble.servers) server.adminAnswer = answer;
    const change = client.admin.removeMember(3);
    change.catch(() => undefined);
    await world.until(() => ensemble.count('admin') === 1);
    ensemble.server(1).host.crash();
    await world.until(() => ensemble.count('admin') === 2);
    return (await world.settled(Promise.allSettled([change])))[0];
  }

  it('may still be made when it is asked for again and refused', async () => {
    expect(await lostAndAnswered(refused)).toMatchObject({
      reason: {
        code: 'LEADER_CHANGED',
        indeterminate: true,
        message: expect.stringMatching(/may still happen.*wait for the other change/),
      },
    });
  });

  it('is made when it is asked for again and has come to be', async () => {
    const answer = { type: 'members', leader: 2, members: [], index: 9 } as const;
    expect(await lostAndAnswered(answer)).toMatchObject({ value: { leader: 2, members: [] } });
  });

  it('and one that was not lost is refused with the reason', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    for (const server of ensemble.servers) server.adminAnswer = refused;
    await expect(world.settled(client.admin.removeMember(3))).rejects.toMatchObject({ code: 'MEMBERSHIP_REFUSED' });
  });
});

describe('a message', () => {
  it('of one turn leaves in one frame with the others of that turn', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const before = ensemble.server(1).frames;
    await world.settled(Promise.all(Array.from({ length: 50 }, (_, n) => client.lock(`l${n}`).acquire())));
    expect(ensemble.received.filter(({ message }) => isCommand(message, 'acquire'))).toHaveLength(50);
    expect(ensemble.server(1).frames - before).toBe(1);
  });

  it('of a very large turn is split into frames that a server accepts', async () => {
    const { world, ensemble, connect } = await scenario();
    const client = await connect();
    const data = new Uint8Array(900_000);
    await world.settled(Promise.all(Array.from({ length: 20 }, (_, n) => client.nodes.create(`/n${n}`, data))));
    expect(ensemble.nodes.size).toBe(20);
  });
});
