import { describe, expect, it } from 'vitest';
import type { Connection, ConnectionHandler, Logger, Network, Timer } from '@holdfast/runtime';
import { DialError, RefusalLog, silentLogger } from '@holdfast/runtime';
import { serverId } from '../../src/core/index.ts';
import {
  NONCE_BYTES,
  PEER_PROTOCOL_VERSION,
  WELCOME,
  decodeProof,
  encodeChallenge,
} from '../../src/peers/greeting-codec.ts';
import { DialledGreeting, NO_BYTES } from '../../src/peers/greeting.ts';
import { NOT_ADMITTED } from '../../src/peers/peer-admission.ts';
import { PeerLink, REFUSED_RETRY_MAX_MS } from '../../src/peers/peer-link.ts';
import { MAX_PEER_FRAME_BYTES, decodePeerFrame, machineItem } from '../../src/peers/peer-codec.ts';
import { proofOf } from '../../src/peers/peer-proof.ts';

class FakeConnection implements Connection {
  readonly remoteAddress = 'peer:1';
  readonly frames: Uint8Array[] = [];
  bufferedBytes = 0;
  open = true;
  #handler: ConnectionHandler | undefined;

  admit(): void {}

  setHandler(handler: ConnectionHandler): void {
    this.#handler = handler;
  }

  send(frame: Uint8Array): void {
    if (this.open) this.frames.push(frame);
  }

  say(frame: Uint8Array): void {
    if (this.open) this.#handler?.frame(frame);
  }

  /** The other end proves itself by the secret, and wants to know who dials. */
  challenge(secret = ''): void {
    const greeting = { hello: this.frames[0] ?? NO_BYTES, nonce: new Uint8Array(NONCE_BYTES) };
    const ownProofs = secret === '' ? [] : [proofOf(secret, 'listener', greeting)];
    this.#handler?.frame(
      encodeChallenge({ nonce: greeting.nonce, ownProofs, yourProof: NO_BYTES, wantsIncarnation: true }),
    );
  }

  welcome(): void {
    this.challenge();
    this.#handler?.frame(WELCOME);
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
  readonly timers: { readonly delayMs: number; readonly run: () => void }[] = [];
  readonly link: PeerLink;
  dialed = 0;
  connection: FakeConnection | undefined;

  constructor(dials: (FakeConnection | 'refused' | 'timeout')[], peer = { secret: '', member: true }) {
    const network: Network = {
      listen: () => Promise.reject(new Error('not here')),
      dial: () => {
        this.dialed += 1;
        const next = dials.shift();
        if (next === undefined) return new Promise(() => undefined);
        this.connection = typeof next === 'string' ? undefined : next;
        return typeof next === 'string' ? Promise.reject(new DialError(next, next)) : Promise.resolve(next);
      },
    };
    const setTimer = (delayMs: number, run: () => void): Timer => {
      this.timers.push({ delayMs, run });
      return { cancel: () => undefined };
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
      serverId(2),
      'peer:1',
      () =>
        new DialledGreeting({
          hello: {
            version: PEER_PROTOCOL_VERSION,
            features: 0,
            clusterId: 'c',
            from: serverId(1),
            to: serverId(2),
            clientAddress: '',
            required: 0,
            peerAddress: 'own:1',
          },
          nonce: new Uint8Array(NONCE_BYTES),
          incarnation: OWN,
          secrets: [OWN],
          peer,
        }),
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
    scene.connection?.say(WELCOME);
    expect(scene.connection?.open).toBe(false);
    expect(scene.lines.map(({ reason, message }) => [reason, message])).toEqual([
      ['spoke out of turn', 'broke off'],
      ['destroyed', 'connection to peer closed'],
    ]);
  });
});
