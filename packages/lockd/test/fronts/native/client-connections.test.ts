import { CLIENT_FEATURES, ClientFeature, CommandType, pack, PROTOCOL_VERSION } from '@holdfast/protocol';
import { describe, expect, it, vi } from 'vitest';
import {
  CLOSE_GRACE_MS,
  HANDSHAKE_TIMEOUT_MS,
  IDLE_LOOK_MS,
  MAX_BUFFERED_BYTES,
  MAX_COMMAND_BYTES,
  MAX_IDLE_LOOKS,
  MAX_UNANSWERED_REQUESTS,
  MAX_UNREAD_BYTES,
} from '../../../src/limits.ts';
import { LoopbackEnsemble } from '../../support/loopback.ts';

function single(): LoopbackEnsemble {
  const ensemble = new LoopbackEnsemble();
  ensemble.elect(1);
  return ensemble;
}

describe('a client that says hello', () => {
  it('is told who is who', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(2);
    const client = ensemble.server(1).dial();
    client.hello('test');
    expect(client.take()).toEqual([
      {
        type: 'welcome',
        version: 1,
        features: CLIENT_FEATURES,
        required: 0,
        clusterId: 'test',
        server: 1,
        leader: 2,
        term: 1,
        spreadMs: 0,
        members: [1, 2, 3].map((server) => ({ server, clientAddress: `client-${server}:1` })),
      },
    ]);
  });

  it('speaks the highest version that both know, if it speaks several', () => {
    const client = single().server(1).dial();
    const hello = { type: 'hello', features: 0, clusterId: 'test', required: 0 } as const;
    client.send({ ...hello, version: 7, lowestVersion: PROTOCOL_VERSION, program: 'sdk', programVersion: '7.0' });
    expect(client.take()).toMatchObject([{ type: 'welcome', version: PROTOCOL_VERSION }]);
    const later = single().server(1).dial();
    later.send({ ...hello, version: 7, lowestVersion: 6 });
    expect(later.take()).toMatchObject([
      { type: 'goodbye', code: 'VERSION_MISMATCH', message: expect.stringContaining('the client versions 6 to 7') },
    ]);
  });

  it('is offered what the state version has, and not what this program knows beyond it', () => {
    const ensemble = single();
    const { state } = ensemble.server(1).machine;
    vi.spyOn(state, 'clientFeatures', 'get').mockReturnValue(ClientFeature.admin);
    const client = ensemble.server(1).dial();
    client.send({ type: 'hello', version: 1, features: CLIENT_FEATURES, clusterId: 'test', required: 0 });
    expect(client.take()).toMatchObject([{ type: 'welcome', features: ClientFeature.admin }]);
    const demanding = ensemble.server(1).dial();
    demanding.send({ type: 'hello', version: 1, features: 0, clusterId: 'test', required: ClientFeature.leave });
    expect(demanding.take()).toMatchObject([{ type: 'goodbye', code: 'UNSUPPORTED' }]);
  });

  it('is refused with credentials, which nobody here could check', () => {
    const client = single().server(1).dial();
    const credentials = [{ scheme: 'token', proof: new Uint8Array(3) }];
    client.send({ type: 'hello', version: 1, features: 0, clusterId: 'test', required: 0, credentials });
    expect(client.take()).toMatchObject([
      { type: 'goodbye', code: 'UNSUPPORTED', message: expect.stringContaining('cannot check credentials ("token")') },
    ]);
    expect(client.open).toBe(false);
  });

  it('may leave the cluster open', () => {
    const client = single().server(1).dial();
    client.hello('');
    expect(client.take()).toMatchObject([{ type: 'welcome' }]);
  });

  it('is told when the leader changes', () => {
    const ensemble = new LoopbackEnsemble(3);
    ensemble.elect(2);
    const client = ensemble.server(1).connect();
    ensemble.elect(3);
    expect(client.take()).toMatchObject([{ type: 'leader', leader: 3 }]);
  });
});

describe('a client that does not greet as it should', () => {
  it.each([
    ['WRONG_CLUSTER', 'other', 1],
    ['VERSION_MISMATCH', 'test', 2],
  ])('is refused with %s', (code, clusterId, version) => {
    const client = single().server(1).dial();
    client.hello(clusterId, version);
    expect(client.take()).toMatchObject([{ type: 'goodbye', code }]);
    expect(client.open).toBe(false);
  });

  it('is refused when it demands what this server does not know, and not for what it merely offers', () => {
    const ensemble = single();
    const demanding = ensemble.server(1).dial();
    demanding.send({ type: 'hello', version: 1, features: 0, clusterId: 'test', required: 2 ** 40 });
    expect(demanding.take()).toMatchObject([
      { type: 'goodbye', code: 'UNSUPPORTED', message: expect.stringContaining('(bit 40); upgrade the servers first') },
    ]);
    const offering = ensemble.server(1).dial();
    offering.send({ type: 'hello', version: 1, features: 2 ** 40, clusterId: 'test', required: CLIENT_FEATURES });
    expect(offering.take()).toMatchObject([{ type: 'welcome' }]);
  });

  it('is refused when it begins with something else, or greets twice', () => {
    const ensemble = single();
    const early = ensemble.server(1).dial();
    early.send({ type: 'ping', id: 1 });
    expect(early.take()).toMatchObject([{ type: 'goodbye', code: 'MALFORMED' }]);
    const twice = ensemble.server(1).connect();
    twice.hello();
    expect(twice.take()).toMatchObject([{ type: 'goodbye', code: 'MALFORMED' }]);
  });

  it('is closed when it says nothing in time', () => {
    const ensemble = single();
    const client = ensemble.server(1).dial();
    ensemble.clock.advance(HANDSHAKE_TIMEOUT_MS - 1);
    expect(client.open).toBe(true);
    ensemble.clock.advance(2);
    expect(client.take()).toMatchObject([{ type: 'goodbye' }]);
    expect(client.open).toBe(false);
  });
});

describe('a malformed frame', () => {
  it.each([
    ['bytes that are not msgpack', new Uint8Array([0xc1, 0xff])],
    ['something other than a list', pack('hello')],
    ['an unknown message', pack([[99, 1]])],
    ['a field of the wrong type', pack([[6, 'one']])],
  ])('of %s closes its connection and no other', (_, bytes) => {
    const ensemble = single();
    const bad = ensemble.server(1).connect();
    const good = ensemble.server(1).connect();
    bad.sendBytes(bytes);
    expect(bad.take()).toMatchObject([{ type: 'goodbye', code: 'MALFORMED' }]);
    expect(bad.open).toBe(false);
    good.send({ type: 'ping', id: 5 });
    expect(good.take()).toEqual([{ type: 'pong', id: 5 }]);
  });
});

describe('a ping', () => {
  it('is answered in the same turn, leader or not', () => {
    const ensemble = new LoopbackEnsemble(3);
    const client = ensemble.server(1).connect();
    client.send({ type: 'ping', id: 9 });
    expect(client.take()).toEqual([{ type: 'pong', id: 9 }]);
  });
});

describe('all that a server says to a client in a turn', () => {
  it('leaves in one frame', () => {
    const ensemble = single();
    const client = ensemble.server(1).connect();
    client.attach();
    for (let number = 1; number <= 20; number += 1) client.acquire(number, `lock ${number}`);
    ensemble.clock.runChecks();
    expect(client.frames).toHaveLength(1);
    expect(client.take()).toHaveLength(20);
  });
});

describe('a client that does not read', () => {
  it('is told so and closed, and destroyed when it reads not even that', () => {
    const ensemble = single();
    let bufferedBytes = 0;
    const client = ensemble.server(1).connect({ bufferedBytes: () => bufferedBytes, hangs: true });
    client.attach();
    bufferedBytes = MAX_BUFFERED_BYTES + 1;
    client.send({ type: 'ping', id: 1 });
    expect(client.take().at(-1)).toMatchObject({ type: 'goodbye', code: 'OVERLOADED' });
    expect(client.destroyed).toBe(false);
    ensemble.clock.advance(CLOSE_GRACE_MS + 1);
    expect(client.destroyed).toBe(true);
  });
});

describe('a connection without a session', () => {
  const idleMs = MAX_IDLE_LOOKS * IDLE_LOOK_MS;

  it('is closed when it has been silent for long, and one that says something or has a session is not', () => {
    const ensemble = single();
    const [silent, talking, attached] = [1, 2, 3].map(() => ensemble.server(1).connect());
    attached?.attach(1, { timeoutMs: 120_000 });
    for (let waited = 0; waited <= idleMs; waited += IDLE_LOOK_MS) {
      talking?.send({ type: 'ping', id: waited });
      ensemble.clock.advance(IDLE_LOOK_MS);
    }
    expect(silent?.take()).toMatchObject([{ type: 'goodbye', code: 'OVERLOADED' }]);
    expect([talking?.open, attached?.open]).toEqual([true, true]);
  });

  it('is not closed while it waits for an answer', () => {
    const ensemble = single();
    const client = ensemble.server(1).connect();
    ensemble.holdReads = true;
    client.read(1, { type: 'exists', path: '/' });
    ensemble.clock.advance(2 * idleMs);
    expect(client.open).toBe(true);
  });
});

describe('clients that together leave much unread', () => {
  it('lose the one that leaves most, and no other', () => {
    const ensemble = single();
    const unread = [0, 0, 0, 0, 0];
    const clients = unread.map((_, n) =>
      ensemble.server(1).connect({ bufferedBytes: () => unread[n] ?? 0, hangs: true }),
    );
    for (const [n, client] of clients.entries()) client.attach(n + 1);
    for (const [n, client] of clients.entries()) {
      unread[n] = n === 2 ? MAX_BUFFERED_BYTES : MAX_UNREAD_BYTES / 5;
      client.send({ type: 'ping', id: 1 });
      client.take();
    }
    expect(clients.map(({ destroyed }) => destroyed)).toEqual([false, false, true, false, false]);
    expect(ensemble.server(1).machine.connections.unreadBytes).toBe((4 * MAX_UNREAD_BYTES) / 5);
  });

  it('keep what they have read since out of the count', () => {
    const ensemble = single();
    const unread = [0, 0, 0, 0, 0, 0];
    const clients = unread.map((_, n) => ensemble.server(1).connect({ bufferedBytes: () => unread[n] ?? 0 }));
    for (const [n, client] of clients.entries()) client.attach(n + 1);
    for (const [n, client] of clients.entries()) {
      unread.fill(0);
      unread[n] = MAX_BUFFERED_BYTES;
      client.send({ type: 'ping', id: 1 });
      client.take();
    }
    expect(clients.every(({ open }) => open)).toBe(true);
  });
});

describe('a request that a server cannot take', () => {
  it('closes the connection when its command is unknown, since it would stop every server', () => {
    for (const command of [0, 64, CommandType.attach, CommandType.expireSession, CommandType.refuse]) {
      const ensemble = single();
      const client = ensemble.server(1).connect();
      client.attach();
      const before = ensemble.log.length;
      client.send({ type: 'request', number: 1, ackedUpTo: 0, command, payload: new Uint8Array() });
      expect(client.take()).toMatchObject([{ type: 'goodbye', code: 'UNSUPPORTED' }]);
      expect(ensemble.log).toHaveLength(before);
    }
  });

  it('closes the connection when its number is 0, which no window counts, and leaves the log as it was', () => {
    const ensemble = single();
    const client = ensemble.server(1).connect();
    client.attach();
    const before = ensemble.log.length;
    for (let copy = 0; copy < 100; copy += 1) client.acquire(0, 'a');
    expect(client.take()).toMatchObject([{ type: 'goodbye', code: 'MALFORMED' }]);
    expect(ensemble.log).toHaveLength(before);
  });

  it('is not put into the log a second time while it is unanswered, nor once it has been answered', () => {
    const ensemble = single();
    const client = ensemble.server(1).connect();
    client.attach();
    client.acquire(1, 'a');
    client.take();
    const before = ensemble.log.length;
    for (let copy = 0; copy < 100; copy += 1) client.acquire(1, 'a');
    ensemble.holdCommits = true;
    for (let copy = 0; copy < 100; copy += 1) client.acquire(2, 'b');
    ensemble.holdCommits = false;
    ensemble.server(1).schedule();
    expect(client.take()).toMatchObject([{ type: 'reply', number: 2 }]);
    expect(ensemble.log).toHaveLength(before + 1);
  });

  it('closes the connection when there is no session', () => {
    const client = single().server(1).connect();
    client.acquire(1, 'a');
    expect(client.take()).toMatchObject([{ type: 'goodbye', code: 'MALFORMED' }]);
  });

  it('closes the connection when it is too large', () => {
    const client = single().server(1).connect();
    client.attach();
    const payload = new Uint8Array(MAX_COMMAND_BYTES + 1);
    client.send({ type: 'request', number: 1, ackedUpTo: 0, command: CommandType.set, payload });
    expect(client.take()).toMatchObject([{ type: 'goodbye', code: 'LIMIT_EXCEEDED' }]);
  });

  it('closes the connection when too many are unanswered', () => {
    const ensemble = single();
    const client = ensemble.server(1).connect();
    client.attach();
    ensemble.holdCommits = true;
    for (let number = 1; number <= MAX_UNANSWERED_REQUESTS; number += 1) client.acquire(number, 'a');
    expect(client.take()).toEqual([]);
    client.acquire(MAX_UNANSWERED_REQUESTS + 1, 'a');
    expect(client.take()).toMatchObject([{ type: 'goodbye', code: 'OVERLOADED' }]);
  });
});

describe('a server with sessions', () => {
  it('wants to hear of commits at once, and not when it has none', () => {
    const ensemble = single();
    const client = ensemble.server(1).connect();
    expect(ensemble.server(1).eagerCommit).toBe(false);
    client.attach();
    expect(ensemble.server(1).eagerCommit).toBe(true);
    client.drop();
    expect(ensemble.server(1).eagerCommit).toBe(false);
  });
});
