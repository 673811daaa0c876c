import { pack, type Packable } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';
import type { Connection, ConnectionHandler, Logger, Network, Timer } from '@holdfast/runtime';
import { DialError, RefusalLog, silentLogger } from '@holdfast/runtime';
import { serverId } from '../../src/core/index.ts';
import {
  NONCE_BYTES,
  PEER_PROTOCOL_VERSION,
  decodeProof,
  encodeChallenge,
  encodeWelcome,
} from '../../src/peers/greeting-codec.ts';
import { DialledGreeting, NO_BYTES } from '../../src/peers/greeting.ts';
import { linkTiming } from '../../src/peers/link-watch.ts';
import { NOT_ADMITTED } from '../../src/peers/peer-admission.ts';
import { PeerLink, REFUSED_RETRY_MAX_MS } from '../../src/peers/peer-link.ts';
import { MAX_PEER_FRAME_BYTES, decodePeerFrame, peerItem } from '../../src/peers/peer-codec.ts';
import { PEER_FEATURES, PeerFeature } from '../../src/peers/peer-features.ts';
import { proofOf } from '../../src/peers/peer-proof.ts';

function machineItem(payload: Uint8Array): Packable {
  return peerItem({ type: 'machine', payload });
}

class FakeConnection implements Connection {
  readonly remoteAddress = 'peer:1';
  readonly frames: Uint8Array[] = [];
  bufferedBytes = 0;
  readonly peerIdentity = undefined;
  receivedBytes = 0;
  open = true;
  #handler: ConnectionHandler | undefined;

  admit(): void {}

  setHandler(handler: ConnectionHandler): void {
    this.#handler = handler;
  }

  send(frame: Uint8Array): void {
    if (this.open) this.frames.push(frame);
  }

  /** The other end proves itself by the secret, and wants to know who dials. */
  challenge(secret = ''): void {
    const greeting = { hello: this.frames[0] ?? NO_BYTES, nonce: new Uint8Array(NONCE_BYTES) };
    const ownProofs = secret === '' ? [] : [proofOf(secret, 'listener', greeting)];
    this.#handler?.frame(
      encodeChallenge({ nonce: greeting.nonce, ownProofs, yourProof: NO_BYTES, wantsIncarnation: true }),
    );
  }

  welcome(features = PEER_FEATURES): void {
    this.challenge();
    this.say(encodeWelcome(features));
  }

  say(frame: Uint8Array): void {
    if (!this.open) return;
    this.receivedBytes += frame.length;
    this.#handler?.frame(frame);
  }

  close(reason = 'closed'): void {
    if (!this.open) return;
    this.open = false;
    this.#handler?.close(reason);
  }

  destroy(): void {
    this.close('destroyed');
  }
}

/** A link whose dials end as `dials` says, in order, and whose time stands still until told. */
class Scene {
  now = 0;
  readonly heard: string[] = [];
  readonly reasons: string[] = [];
  /** What the log says. */
  readonly lines: Record<string, unknown>[] = [];
  readonly refusals: RefusalLog;
  readonly timers: { readonly delayMs: number; readonly run: () => void; cancelled: boolean }[] = [];
  readonly link: PeerLink;
  dialed = 0;
  connection: FakeConnection | undefined;

  /** Instead of `dials`. */
  dialWith: (() => Promise<Connection>)[] = [];

  constructor(dials: (FakeConnection | 'refused' | 'timeout' | 'unanswered')[], peer = { secret: '', member: true }) {
    const network: Network = {
      listen: () => Promise.reject(new Error('not here')),
      listenForStreams: () => Promise.reject(new Error('nobody listens for streams here')),
      dialStream: () => Promise.reject(new Error('nobody dials streams here')),
      dial: () => {
        this.dialed += 1;
        const own = this.dialWith.shift();
        if (own !== undefined) return own();
        const next = dials.shift();
        if (next === undefined) return new Promise(() => undefined);
        this.connection = typeof next === 'string' ? undefined : next;
        if (typeof next !== 'string') return Promise.resolve(next);
        if (next === 'unanswered') return Promise.reject(new DialError('timeout', next, { accepted: true }));
        return Promise.reject(new DialError(next, next));
      },
    };
    const setTimer = (delayMs: number, run: () => void): Timer => {
      const timer = { delayMs, run, cancelled: false };
      this.timers.push(timer);
      return { cancel: () => (timer.cancelled = true) };
    };
    const clock = { monotonicMs: () => this.now, wallMs: () => 0, setTimer, afterPoll: (run: () => void) => run() };
    const said = (fields: object, message: string) => void this.lines.push({ ...fields, message });
    const logger: Logger = { ...silentLogger, info: said, warn: said };
    // With timers of its own: those of the link are the test's.
    this.refusals = new RefusalLog('broke off', {
      clock: { monotonicMs: () => this.now, setTimer: () => ({ cancel: () => undefined }) },
      logger,
    });
    this.link = new PeerLink(
      {
        peer: serverId(2),
        address: 'peer:1',
        timing: TIMING,
        newGreeting: () =>
          new DialledGreeting({
            hello: {
              version: PEER_PROTOCOL_VERSION,
              features: 0,
              clusterId: 'c',
              from: serverId(1),
              to: serverId(2),
              clientAddress: '',
              purpose: 'log',
              required: 0,
              peerAddress: 'own:1',
            },
            nonce: new Uint8Array(NONCE_BYTES),
            incarnation: OWN,
            secrets: { provenBy: [OWN], knownBy: [OWN] },
            peer,
          }),
      },
      {
        shown: () => undefined,
        connected: () => this.heard.push('connected'),
        disconnected: () => this.heard.push('disconnected'),
        refused: () => this.heard.push('refused'),
        notAdmitted: (reason: string) => this.reasons.push(reason),
      },
      {
        clock,
        network,
        logger,
        refusals: this.refusals,
        random: { next: () => 0.5, integer: () => 0, bytes: (length: number) => new Uint8Array(length) },
      },
    );
  }

  async dial(): Promise<void> {
    this.link.dial();
    await settled();
  }

  async connect(): Promise<void> {
    await this.dial();
    this.connection?.welcome();
  }
}

const OWN = 'the secret of server 1';
const TIMING = linkTiming(1_000);

const settled = async () => {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
};

describe('a link to a peer that does not read', () => {
  it('refuses what may get lost, and gives up the connection rather than lose a message of Raft', async () => {
    const connection = new FakeConnection();
    const scene = new Scene([connection]);
    await scene.connect();
    connection.bufferedBytes = 64 * 1024 * 1024;
    expect(scene.link.queue(machineItem(new Uint8Array(1)))).toBe(false);
    expect(scene.heard).toEqual(['connected']);
    scene.link.queueOrClose(machineItem(new Uint8Array(1)));
    expect(connection.open).toBe(false);
    expect(scene.heard).toEqual(['connected', 'disconnected']);
  });
});

describe('the frames of a link', () => {
  it('hold all items of a turn', async () => {
    const connection = new FakeConnection();
    const scene = new Scene([connection]);
    await scene.connect();
    for (let count = 0; count < 5; count += 1) scene.link.queue(machineItem(new Uint8Array(10)));
    scene.link.flush();
    scene.link.flush();
    const [, , frame, ...rest] = connection.frames;
    expect(decodePeerFrame(frame ?? new Uint8Array())).toHaveLength(5);
    expect(rest).toEqual([]);
  });

  it('stay below what the receiver takes, and in order', async () => {
    const connection = new FakeConnection();
    const scene = new Scene([connection]);
    await scene.connect();
    for (let count = 0; count < 40; count += 1) {
      const payload = new Uint8Array(1024 * 1024);
      payload[0] = count;
      scene.link.queue(machineItem(payload));
    }
    scene.link.flush();
    const frames = connection.frames.slice(2);
    expect(Math.max(...frames.map((frame) => frame.length))).toBeLessThan(MAX_PEER_FRAME_BYTES / 2);
    const order = frames.flatMap((frame) =>
      decodePeerFrame(frame).map((item) => (item.type === 'machine' ? item.payload[0] : undefined)),
    );
    expect(order).toEqual(Array.from({ length: 40 }, (_, count) => count));
  });
});

describe('a connection that closes', () => {
  it('is dialed again at once when it had lasted, and a refusal is told', async () => {
    const connection = new FakeConnection();
    const scene = new Scene([connection, 'refused']);
    await scene.connect();
    scene.now = 5_000;
    connection.destroy();
    await settled();
    expect(scene.heard).toEqual(['connected', 'disconnected', 'refused']);
  });

  it('is dialed again a little later when it had not: a hello may have been refused', async () => {
    const connection = new FakeConnection();
    const scene = new Scene([connection]);
    await scene.connect();
    connection.destroy();
    await settled();
    expect(scene.dialed).toBe(1);
    scene.timers.at(-1)?.run();
    expect(scene.dialed).toBe(2);
  });

  it('proves nothing about the peer when the dial hangs', async () => {
    const connection = new FakeConnection();
    const scene = new Scene([connection, 'timeout']);
    await scene.connect();
    scene.now = 5_000;
    connection.destroy();
    await settled();
    expect(scene.heard).toEqual(['connected', 'disconnected']);
  });
});

describe('a peer that is known by a secret', () => {
  it('is spoken to only when it proves it, and only then told who dials', async () => {
    const [impostor, peer] = [new FakeConnection(), new FakeConnection()];
    const scene = new Scene([impostor, peer], { secret: 'of server 2', member: true });
    await scene.dial();
    impostor.challenge('of another');
    expect(impostor.open).toBe(false);
    expect(impostor.frames).toHaveLength(1);
    expect(JSON.stringify(impostor.frames.map((frame) => Buffer.from(frame).toString('latin1')))).not.toContain(OWN);
    expect(scene.heard).toEqual([]);
    await scene.dial();
    peer.challenge('of server 2');
    expect(decodeProof(peer.frames[1] ?? NO_BYTES).incarnation).toBe(OWN);
    expect(scene.link.connected).toBe(false);
  });
});

describe('a link where this server is not let in', () => {
  it('says so, ends nothing, and dials less and less often', async () => {
    const connections = Array.from({ length: 12 }, () => new FakeConnection());
    const scene = new Scene([...connections]);
    const delays: number[] = [];
    for (const connection of connections) {
      await scene.dial();
      connection.challenge();
      connection.close(NOT_ADMITTED);
      delays.push(scene.timers.at(-1)?.delayMs ?? 0);
    }
    expect(scene.reasons).toEqual(connections.map(() => NOT_ADMITTED));
    expect(scene.heard).toEqual([]);
    expect(delays).toEqual(delays.toSorted((a, b) => a - b));
    expect(delays.at(-1)).toBe(REFUSED_RETRY_MAX_MS * 0.75);
  });
});

describe('what a link says of connections that come to nothing', () => {
  const CONNECTIONS = 50;
  const attempts: readonly [reason: string, fail: (connection: FakeConnection) => void, problem: RegExp][] = [
    [
      'not the peer',
      (connection) => connection.challenge('of another'),
      /does not prove|not the server|incarnation|secret/,
    ],
    ['greets in another way', (connection) => connection.say(Uint8Array.of(0xc1)), /0xc1|msgpack|tuple/],
    ['not welcomed', (connection) => connection.close('x'.repeat(1_000)), /^x{200}$/],
    ['not welcomed', (connection) => connection.close(NOT_ADMITTED), /./],
  ];

  it.each(attempts)('is one line for each reason and address, and a count: %s', async (reason, fail, problem) => {
    const connections = Array.from({ length: CONNECTIONS }, () => new FakeConnection());
    const scene = new Scene([...connections], { secret: 'of server 2', member: true });
    for (const connection of connections) {
      await scene.dial();
      fail(connection);
      expect(connection.open).toBe(false);
    }
    scene.refusals.stop();
    expect(scene.lines).toEqual([
      { reason, remoteAddress: 'peer:1', problem: expect.stringMatching(problem), peer: 2, message: 'broke off' },
      { reason, remoteAddress: 'peer', count: CONNECTIONS - 1, message: 'broke off, again' },
    ]);
  });

  it('names a peer that speaks on a connection that is not its own', async () => {
    const scene = new Scene([new FakeConnection()]);
    await scene.connect();
    scene.connection?.say(pack([machineItem(new Uint8Array(1))]));
    expect(scene.connection?.open).toBe(false);
    expect(scene.lines.map(({ reason, message }) => [reason, message])).toEqual([
      ['spoke out of turn', 'broke off'],
      ['destroyed', 'connection to peer closed'],
    ]);
  });
});

describe('a link on which nothing is heard', () => {
  const connected = async () => {
    const [connection, next] = [new FakeConnection(), new FakeConnection()];
    const scene = new Scene([connection, next]);
    await scene.connect();
    scene.now = 60_000;
    return { scene, connection, next };
  };
  const looks = (scene: Scene, count: number): boolean[] => Array.from({ length: count }, () => scene.link.look());

  it('is closed after two election timeouts, says so, and is dialled again at once', async () => {
    const { scene, connection, next } = await connected();
    const [last, ...before] = looks(scene, TIMING.silentLooks).toReversed();
    expect(TIMING.silentLooks * TIMING.lookMs).toBe(2_000);
    expect(before.every(Boolean)).toBe(true);
    expect(last).toBe(false);
    expect(connection.open).toBe(false);
    expect(scene.heard).toEqual(['connected', 'disconnected']);
    expect(scene.dialed).toBe(2);
    await settled();
    next.welcome();
    expect(scene.link.connected).toBe(true);
    expect(looks(scene, TIMING.silentLooks - 1).every(Boolean)).toBe(true);
  });

  it('is kept for as long as anything comes, a part of a frame or an empty one', async () => {
    const { scene, connection } = await connected();
    for (let round = 0; round < 10; round += 1) {
      expect(looks(scene, TIMING.silentLooks - 1).every(Boolean)).toBe(true);
      if (round % 2 === 0) connection.receivedBytes += 1;
      else connection.say(pack([]));
    }
    expect(connection.open).toBe(true);
  });

  it('lets itself be heard: by an empty frame, when it has sent nothing else for a quarter of that time', async () => {
    const { scene, connection } = await connected();
    connection.frames.length = 0;
    for (let look = 0; look < 20; look += 1) {
      connection.receivedBytes += 1;
      scene.link.queue(machineItem(new Uint8Array(1)));
      scene.link.flush();
      scene.link.look();
    }
    expect(connection.frames).toHaveLength(20);
    connection.frames.length = 0;
    for (let look = 0; look < 20; look += 1) {
      connection.receivedBytes += 1;
      scene.link.look();
    }
    expect(connection.frames.map((frame) => decodePeerFrame(frame))).toEqual(Array.from({ length: 10 }, () => []));
  });

  it('is kept when the peer is of a version that says nothing there, and is closed when such a one does', async () => {
    const connection = new FakeConnection();
    const scene = new Scene([connection]);
    await scene.dial();
    connection.welcome(PeerFeature.snapshot);
    expect(looks(scene, 100).every(Boolean)).toBe(true);
    expect(connection.open).toBe(true);
    connection.say(pack([]));
    expect(connection.open).toBe(false);
  });

  it('is closed when the peer says more there than that it is heard', async () => {
    const { connection } = await connected();
    connection.say(pack([machineItem(new Uint8Array(1))]));
    expect(connection.open).toBe(false);
  });
});

describe('a dial that gets no answer', () => {
  it('is overtaken by another, which does not wait for the kernel to send the first one again', async () => {
    const connection = new FakeConnection();
    let answer: (connection: FakeConnection) => void = () => {};
    const hangs = new Promise<FakeConnection>((resolve) => (answer = resolve));
    const scene = new Scene([]);
    scene.dialWith = [() => hangs, () => Promise.resolve(connection)];
    await scene.dial();
    const overtaking = scene.timers.at(-1);
    expect(overtaking?.delayMs).toBe(500);
    scene.now = 500;
    overtaking?.run();
    await settled();
    connection.welcome();
    expect(scene.heard).toEqual(['connected']);
    // The first one is answered after all.
    const late = new FakeConnection();
    answer(late);
    await settled();
    expect([late.open, connection.open]).toEqual([false, true]);
    expect(scene.heard).toEqual(['connected']);
  });

  it('is overtaken at once when the peer dials this server, unless it has just begun', async () => {
    const scene = new Scene([]);
    await scene.dial();
    scene.now = 50;
    await scene.dial();
    expect(scene.dialed).toBe(1);
    scene.now = 150;
    await scene.dial();
    expect(scene.dialed).toBe(2);
  });

  it('though the host has accepted it is repeated less and less often: the process is stopped', async () => {
    const scene = new Scene(Array.from({ length: 12 }, () => 'unanswered' as const));
    const delays: number[] = [];
    for (let dial = 0; dial < 12; dial += 1) {
      scene.now += 10_000;
      await scene.dial();
      delays.push(scene.timers.findLast(({ cancelled }) => !cancelled)?.delayMs ?? 0);
    }
    expect(delays).toEqual(delays.toSorted((a, b) => a - b));
    expect(delays.at(-1)).toBe(5_000 * 0.75);
  });

  it('for the host of a peer that is gone is repeated soon at first, and at least every half second', async () => {
    const scene = new Scene(Array.from({ length: 12 }, () => 'refused' as const));
    const delays: number[] = [];
    for (let dial = 0; dial < 12; dial += 1) {
      scene.now += 10_000;
      await scene.dial();
      delays.push(scene.timers.at(-1)?.delayMs ?? Infinity);
    }
    expect(delays[0]).toBeLessThanOrEqual(20);
    expect(Math.max(...delays)).toBeLessThanOrEqual(500);
  });
});
