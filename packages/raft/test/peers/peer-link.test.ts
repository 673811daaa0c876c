import { describe, expect, it } from 'vitest';
import type { Connection, ConnectionHandler, Network, Timer } from '@holdfast/runtime';
import { DialError, silentLogger } from '@holdfast/runtime';
import { serverId } from '../../src/core/index.ts';
import { PeerLink } from '../../src/peers/peer-link.ts';
import {
  MAX_PEER_FRAME_BYTES,
  PEER_PROTOCOL_VERSION,
  decodePeerFrame,
  machineItem,
} from '../../src/peers/peer-codec.ts';

class FakeConnection implements Connection {
  readonly remoteAddress = 'peer:1';
  readonly frames: Uint8Array[] = [];
  bufferedBytes = 0;
  open = true;
  #handler: ConnectionHandler | undefined;

  setHandler(handler: ConnectionHandler): void {
    this.#handler = handler;
  }

  send(frame: Uint8Array): void {
    if (this.open) this.frames.push(frame);
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
  readonly timers: { readonly delayMs: number; readonly run: () => void }[] = [];
  readonly link: PeerLink;
  dialed = 0;

  constructor(dials: (Connection | 'refused' | 'timeout')[]) {
    const network: Network = {
      listen: () => Promise.reject(new Error('not here')),
      dial: () => {
        this.dialed += 1;
        const next = dials.shift();
        if (next === undefined) return new Promise(() => undefined);
        return typeof next === 'string' ? Promise.reject(new DialError(next, next)) : Promise.resolve(next);
      },
    };
    const setTimer = (delayMs: number, run: () => void): Timer => {
      this.timers.push({ delayMs, run });
      return { cancel: () => undefined };
    };
    const clock = { monotonicMs: () => this.now, wallMs: () => 0, setTimer, afterPoll: (run: () => void) => run() };
    this.link = new PeerLink(
      serverId(2),
      'peer:1',
      () => ({
        version: PEER_PROTOCOL_VERSION,
        features: 0,
        clusterId: 'c',
        from: serverId(1),
        to: serverId(2),
        incarnation: 'i',
        clientAddress: '',
        required: 0,
        peerAddress: 'own:1',
        configurationIndex: 0,
      }),
      {
        connected: () => this.heard.push('connected'),
        disconnected: () => this.heard.push('disconnected'),
        refused: () => this.heard.push('refused'),
        closed: (reason: string) => this.reasons.push(reason),
      },
      {
        clock,
        network,
        logger: silentLogger,
        random: { next: () => 0.5, integer: () => 0, bytes: (length: number) => new Uint8Array(length) },
      },
    );
  }

  async dial(): Promise<void> {
    this.link.dial();
    await settled();
  }
}

const settled = async () => {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
};

describe('a link to a peer that does not read', () => {
  it('refuses what may get lost, and gives up the connection rather than lose a message of Raft', async () => {
    const connection = new FakeConnection();
    const scene = new Scene([connection]);
    await scene.dial();
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
    await scene.dial();
    for (let count = 0; count < 5; count += 1) scene.link.queue(machineItem(new Uint8Array(10)));
    scene.link.flush();
    scene.link.flush();
    const [, frame, ...rest] = connection.frames;
    expect(decodePeerFrame(frame ?? new Uint8Array())).toHaveLength(5);
    expect(rest).toEqual([]);
  });

  it('stay below what the receiver takes, and in order', async () => {
    const connection = new FakeConnection();
    const scene = new Scene([connection]);
    await scene.dial();
    for (let count = 0; count < 40; count += 1) {
      const payload = new Uint8Array(1024 * 1024);
      payload[0] = count;
      scene.link.queue(machineItem(payload));
    }
    scene.link.flush();
    const frames = connection.frames.slice(1);
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
    await scene.dial();
    scene.now = 5_000;
    connection.destroy();
    await settled();
    expect(scene.heard).toEqual(['connected', 'disconnected', 'refused']);
  });

  it('is dialed again a little later when it had not: a hello may have been refused', async () => {
    const connection = new FakeConnection();
    const scene = new Scene([connection]);
    await scene.dial();
    connection.destroy();
    await settled();
    expect(scene.dialed).toBe(1);
    scene.timers.at(-1)?.run();
    expect(scene.dialed).toBe(2);
  });

  it('proves nothing about the peer when the dial hangs', async () => {
    const connection = new FakeConnection();
    const scene = new Scene([connection, 'timeout']);
    await scene.dial();
    scene.now = 5_000;
    connection.destroy();
    await settled();
    expect(scene.heard).toEqual(['connected', 'disconnected']);
  });
});
