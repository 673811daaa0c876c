import type { Connection, ConnectionHandler, Timer } from '@holdfast/runtime';
import { silentLogger } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { serverId } from '../../src/core/index.ts';
import { PEER_PROTOCOL_VERSION, encodeHello, type PeerHello } from '../../src/peers/peer-codec.ts';
import { PeerListener } from '../../src/peers/peer-listener.ts';

class FakeConnection implements Connection {
  readonly remoteAddress = 'peer:1';
  readonly bufferedBytes = 0;
  closedWith: string | undefined;
  #handler: ConnectionHandler | undefined;

  get open(): boolean {
    return this.closedWith === undefined;
  }

  setHandler(handler: ConnectionHandler): void {
    this.#handler = handler;
  }

  send(): void {
    throw new Error('a listener says nothing');
  }

  close(reason = 'closed'): void {
    if (!this.open) return;
    this.closedWith = reason;
    this.#handler?.close(reason);
  }

  destroy(): void {
    this.close('destroyed');
  }

  say(frame: Uint8Array): void {
    this.#handler?.frame(frame);
  }
}

/** The ear of server 1 of three. */
class Scene {
  readonly events: string[] = [];
  readonly timers: { readonly run: () => void; cancelled: boolean }[] = [];
  readonly admitted = new Set([serverId(2), serverId(3)]);
  readonly listener: PeerListener;
  readonly #options;

  constructor() {
    const setTimer = (_delayMs: number, run: () => void): Timer => {
      const timer = { run, cancelled: false };
      this.timers.push(timer);
      return { cancel: () => (timer.cancelled = true) };
    };
    const clock = { monotonicMs: () => 0, wallMs: () => 0, setTimer, afterPoll: (run: () => void) => run() };
    this.listener = new PeerListener(
      {
        clusterId: 'c',
        id: serverId(1),
        admission: ({ from }) => (this.admitted.has(from) ? undefined : `server ${from} is no member: check --cluster`),
      },
      {
        accepted: (peer) => this.events.push(`accepted ${peer}`),
        frame: (from) => this.events.push(`frame of ${from}`),
        closed: (peer) => this.events.push(`closed ${peer}`),
        snapshot: (from) => {
          this.events.push(`snapshot of ${from}`);
          return {
            frame: () => this.events.push(`piece of ${from}`),
            close: () => this.events.push(`end of the snapshot of ${from}`),
          };
        },
      },
      { clock, logger: silentLogger },
    );
    this.#options = this.listener.listenOptions('s:1');
  }

  connect(): FakeConnection {
    const connection = new FakeConnection();
    this.#options.onConnection(connection);
    return connection;
  }

  greet(fields: Partial<PeerHello> = {}): FakeConnection {
    const connection = this.connect();
    const hello = { version: PEER_PROTOCOL_VERSION, features: 0, clusterId: 'c', from: serverId(2), to: serverId(1) };
    const rest = { incarnation: 'disk', clientAddress: 'c:1', required: 0, peerAddress: 'p:2', configurationIndex: 0 };
    connection.say(encodeHello({ ...hello, ...rest, ...fields }));
    return connection;
  }
}

const FRAME = new Uint8Array([0x90]);

describe('a peer', () => {
  it('is heard after its hello, until its connection closes', () => {
    const scene = new Scene();
    const connection = scene.greet();
    connection.say(FRAME);
    connection.destroy();
    expect(scene.events).toEqual(['accepted 2', 'frame of 2', 'closed 2']);
  });

  it('replaces its own older connection', () => {
    const scene = new Scene();
    const older = scene.greet();
    scene.greet().say(FRAME);
    expect(older.open).toBe(false);
    expect(scene.events).toEqual(['accepted 2', 'closed 2', 'accepted 2', 'frame of 2']);
  });

  it('from another data directory is refused as long as the first is connected, and only so long', () => {
    const scene = new Scene();
    const first = scene.greet();
    const second = scene.greet({ incarnation: 'another disk' });
    expect(second.closedWith).toMatch(/server 2 is connected from another data directory: two use that --id/);
    expect(first.open).toBe(true);
    first.say(FRAME);
    expect(scene.events).toEqual(['accepted 2', 'frame of 2']);
    first.destroy();
    expect(scene.greet({ incarnation: 'another disk' }).open).toBe(true);
  });
});

describe('a connection for a snapshot', () => {
  it("is heard beside the peer's own connection, and replaces none", () => {
    const scene = new Scene();
    const own = scene.greet();
    const first = scene.greet({ purpose: 'snapshot' });
    first.say(FRAME);
    own.say(FRAME);
    first.destroy();
    expect(own.open).toBe(true);
    expect(scene.events).toEqual([
      'accepted 2',
      'snapshot of 2',
      'piece of 2',
      'frame of 2',
      'end of the snapshot of 2',
    ]);
  });
});

describe('a peer that is not admitted any more', () => {
  it('loses its connection and is told why', () => {
    const scene = new Scene();
    const connection = scene.greet();
    expect(scene.listener.incarnation(serverId(2))).toBe('disk');
    scene.admitted.delete(serverId(2));
    scene.listener.admitAgain();
    expect(connection.closedWith).toMatch(/server 2 is no member/);
    expect(scene.events).toEqual(['accepted 2', 'closed 2']);
  });
});

describe('a stranger', () => {
  it.each([
    ['of another version', { version: PEER_PROTOCOL_VERSION + 1 }, /peer protocol 2 is not 1: run the same version/],
    [
      'that demands what is unknown here',
      { required: 2 ** 40 + 1 },
      /features that this server does not know \(bit 40\)/,
    ],
    ['of another cluster', { clusterId: 'd' }, /cluster "d" is not "c"/],
    ['that means another server', { to: serverId(3) }, /server 3 was meant, this is 1: check --cluster/],
    ['that is no member', { from: serverId(4) }, /server 4 is no member: check --cluster/],
    ['that is this server itself', { from: serverId(1) }, /server 1 is no member/],
  ])('%s is told so and never heard', (_, fields, reason) => {
    const scene = new Scene();
    expect(scene.greet(fields).closedWith).toMatch(reason);
    expect(scene.events).toEqual([]);
  });

  it('that says no hello is refused at its first frame, or when its time is over', () => {
    const scene = new Scene();
    const loud = scene.connect();
    loud.say(FRAME);
    expect(loud.closedWith).toBe('malformed hello');
    const silent = scene.connect();
    scene.timers.at(-1)?.run();
    expect(silent.closedWith).toBe('no hello');
    expect(scene.events).toEqual([]);
  });
});
