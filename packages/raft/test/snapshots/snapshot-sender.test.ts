import {
  Throttle,
  silentLogger,
  type Clock,
  type Connection,
  type ConnectionHandler,
  type Timer,
} from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';

import { encodeConfiguration, initialConfiguration, logIndex, serverId, term } from '../../src/core/index.ts';
import { MemoryLogStore } from '../../src/log-store/contract/memory-log-store.ts';
import {
  decodeSnapshotMessage,
  encodeSnapshotMessage,
  type SnapshotMessage,
} from '../../src/snapshots/snapshot-codec.ts';
import { MAX_CHUNKS_IN_FLIGHT, SLICE_REST_FACTOR, TRANSFER_STALL_MS } from '../../src/snapshots/snapshot-options.ts';
import { SnapshotSender } from '../../src/snapshots/snapshot-sender.ts';
import { settled } from './support/line.ts';

const STATE = new Uint8Array(1_000).fill(7);
const CONFIGURATION = encodeConfiguration(initialConfiguration([{ id: serverId(1), peerAddress: 'host:1' }]));
const BYTES_PER_SECOND = 1_000;
const FAST = 2 ** 30;
/** That is what the store in memory reads at once. */
const PIECE_BYTES = 64 * 1024;

/** Time passes when the test says so. */
class TestClock implements Clock {
  nowMs = 0;
  readonly #timers: { readonly dueMs: number; readonly run: () => void; cancelled: boolean }[] = [];

  monotonicMs(): number {
    return this.nowMs;
  }

  wallMs(): number {
    return this.nowMs;
  }

  setTimer(delayMs: number, run: () => void): Timer {
    const timer = { dueMs: this.nowMs + delayMs, run, cancelled: false };
    this.#timers.push(timer);
    return { cancel: () => void (timer.cancelled = true) };
  }

  afterPoll(run: () => void): void {
    run();
  }

  async pass(ms: number): Promise<void> {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs;) {
      this.nowMs += 10;
      for (const timer of this.#timers) {
        if (timer.cancelled || timer.dueMs > this.nowMs) continue;
        timer.cancelled = true;
        timer.run();
      }
      await settled();
    }
  }
}

/** A connection to the peer, as which the test answers. */
class DialledLine implements Connection {
  readonly peerIdentity = undefined;
  readonly remoteAddress = 'peer:1';
  readonly bufferedBytes = 0;
  receivedBytes = 0;
  open = true;
  readonly heard: SnapshotMessage[] = [];
  #greeted = false;
  #handler: ConnectionHandler | undefined;

  admit(): void {}

  setHandler(handler: ConnectionHandler): void {
    this.#handler = handler;
  }

  send(frame: Uint8Array): void {
    if (!this.#greeted) this.#greeted = true;
    else this.heard.push(decodeSnapshotMessage(Uint8Array.from(frame)));
  }

  close(): void {
    this.destroy();
  }

  destroy(): void {
    if (!this.open) return;
    this.open = false;
    this.#handler?.close('destroyed');
  }

  get pieces(): number {
    return this.heard.filter(({ type }) => type === 'chunk').length;
  }

  /** It lets the sender in, and says that. */
  async welcome(message: SnapshotMessage): Promise<void> {
    this.#handler?.frame(new Uint8Array(0));
    await this.say(message);
  }

  async say(message: SnapshotMessage): Promise<void> {
    this.#handler?.frame(encodeSnapshotMessage(message));
    await settled();
  }
}

class Scene {
  readonly clock = new TestClock();
  readonly throttle: Throttle;
  readonly #state: Uint8Array;
  readonly lines: DialledLine[] = [];
  readonly sent: number[] = [];
  readonly errors: unknown[] = [];
  /** The peer takes so long to answer a dial. */
  answered: Promise<void> = Promise.resolve();

  constructor(state = STATE, bytesPerSecond = BYTES_PER_SECOND) {
    this.#state = state;
    this.throttle = new Throttle({ bytesPerSecond, restFactor: SLICE_REST_FACTOR }, this.clock);
  }

  async send(): Promise<SnapshotSender> {
    const store = new MemoryLogStore();
    const position = { index: logIndex(20), term: term(2) };
    const sink = await store.createSnapshot({ ...position, configuration: CONFIGURATION, origin: 'taken' });
    await sink.write(this.#state);
    await sink.finish();
    const dial = async (): Promise<DialledLine> => {
      await this.answered;
      const line = new DialledLine();
      this.lines.push(line);
      return line;
    };
    const sender = new SnapshotSender(
      {
        address: 'peer:1',
        peer: serverId(2),
        throttle: this.throttle,
        greeting: () => ({
          hello: new Uint8Array(1),
          challenged: true,
          satisfied: true,
          proof: new Uint8Array(1),
          challengedBy: () => {},
        }),
        openSnapshot: () => store.openSnapshot(),
        urgent: () => false,
        leaderTerm: term(3),
        logBase: () => logIndex(10),
        reachesBack: () => true,
        sent: (index) => this.sent.push(index),
        failed: (error) => this.errors.push(error),
      },
      {
        clock: this.clock,
        network: {
          dial,
          listenForStreams: () => Promise.reject(new Error('nobody listens for streams here')),
          dialStream: () => Promise.reject(new Error('nobody dials streams here')),
          listen: () => Promise.reject(new Error('nobody listens')),
        },
        random: { next: () => 0, integer: () => 0, bytes: (length) => new Uint8Array(length) },
        logger: silentLogger,
      },
    );
    sender.start();
    await settled();
    return sender;
  }
}

describe('a sender of a snapshot', () => {
  it('offers it, sends what the peer asks for, and tells of its end', async () => {
    const scene = new Scene();
    await scene.send();
    const [line] = scene.lines;
    await line?.welcome({ type: 'resume', offset: 0 });
    await scene.clock.pass(100);
    expect(line?.heard).toMatchObject([
      { type: 'offer', index: 20, term: 2, leaderTerm: 3, logBase: 10, bytes: STATE.length },
      { type: 'chunk', offset: 0, data: STATE },
      { type: 'end' },
    ]);
    await line?.say({ type: 'installed', index: logIndex(20) });
    expect(scene.sent).toEqual([20]);
    expect(line?.open).toBe(false);
    expect(scene.errors).toEqual([]);
  });

  it('sends no piece twice when the connection was lost while one waited for its time', async () => {
    const scene = new Scene();
    // Somebody else's piece goes first, for two seconds.
    await scene.throttle.take(2 * BYTES_PER_SECOND, { isUrgent: () => false, checkMs: 1 });
    await scene.send();
    await scene.lines[0]?.welcome({ type: 'resume', offset: 0 });
    scene.lines[0]?.destroy();
    await scene.clock.pass(1_000);
    expect(scene.lines).toHaveLength(2);
    const line = scene.lines[1];
    await line?.welcome({ type: 'resume', offset: 0 });
    await scene.clock.pass(5_000);
    expect(line?.heard.map(({ type }) => type)).toEqual(['offer', 'chunk', 'end']);
    expect(scene.errors).toEqual([]);
  });

  it('has so many pieces under way that are not acknowledged, and as many again on the next connection', async () => {
    const scene = new Scene(new Uint8Array((MAX_CHUNKS_IN_FLIGHT + 2) * PIECE_BYTES), FAST);
    await scene.send();
    const [line] = scene.lines;
    await line?.welcome({ type: 'resume', offset: 0 });
    await scene.clock.pass(100);
    expect(line?.pieces).toBe(MAX_CHUNKS_IN_FLIGHT);
    await line?.say({ type: 'written', offset: PIECE_BYTES });
    await scene.clock.pass(100);
    expect(line?.pieces).toBe(MAX_CHUNKS_IN_FLIGHT + 1);
    line?.destroy();
    await scene.clock.pass(1_000);
    const again = scene.lines[1];
    await again?.welcome({ type: 'resume', offset: PIECE_BYTES });
    await scene.clock.pass(100);
    expect(again?.pieces).toBe(MAX_CHUNKS_IN_FLIGHT);
  });

  it('that is stopped while it dials leaves no connection open', async () => {
    const scene = new Scene();
    let answer = (): void => {};
    scene.answered = new Promise((resolve) => (answer = resolve));
    const sender = await scene.send();
    sender.stop();
    answer();
    await settled();
    expect(scene.lines.map(({ open }) => open)).toEqual([false]);
    expect(sender.connected).toBe(false);
    expect(scene.errors).toEqual([]);
  });

  it('stays with a peer that is slow, and leaves one that says nothing any more', async () => {
    const pieces = 10;
    const scene = new Scene(new Uint8Array(pieces * PIECE_BYTES), FAST);
    await scene.send();
    const [line] = scene.lines;
    await line?.welcome({ type: 'resume', offset: 0 });
    for (let piece = 1; piece < pieces; piece += 1) {
      await scene.clock.pass(TRANSFER_STALL_MS / 2);
      await line?.say({ type: 'written', offset: piece * PIECE_BYTES });
    }
    expect(line?.open).toBe(true);
    await scene.clock.pass(TRANSFER_STALL_MS + 10);
    expect(line?.open).toBe(false);
  });

  it('stays with a peer that waits for its turn behind others, for however long', async () => {
    const scene = new Scene();
    await scene.throttle.take((3 * TRANSFER_STALL_MS * BYTES_PER_SECOND) / 1_000, {
      isUrgent: () => false,
      checkMs: 50,
    });
    await scene.send();
    const [line] = scene.lines;
    await line?.welcome({ type: 'resume', offset: 0 });
    await scene.clock.pass(3 * TRANSFER_STALL_MS - 100);
    expect(line?.pieces).toBe(0);
    await scene.clock.pass(200);
    expect(line?.pieces).toBe(1);
    expect(scene.lines.map(({ open }) => open)).toEqual([true]);
    // Now something is owed.
    await scene.clock.pass(2 * TRANSFER_STALL_MS);
    expect(line?.open).toBe(false);
  });
});
