/**
 * A small deterministic world for the client's tests: virtual time, hosts whose clocks and event loops can be disturbed, and a network
 * of frames that can hang. Frames take a millisecond. Everything of one instant runs in the order in which it was asked for, the check
 * phase after it, as in Node.
 */

import {
  DialError,
  type Clock,
  type Connection,
  type ConnectionHandler,
  type Network,
  type Random,
} from '@holdfast/runtime';
import type { ClientRuntime } from '../../src/session/session.ts';

const LATENCY_MS = 1;

/** As in Node: timers that are due run before the sockets are read, and the check phase comes last. */
type Phase = 'timer' | 'poll' | 'check';
const PHASES: readonly Phase[] = ['timer', 'poll', 'check'];

interface Event {
  readonly atMs: number;
  readonly phase: Phase;
  readonly order: number;
  readonly host: TestHost | undefined;
  readonly run: () => void;
  cancelled: boolean;
}

export class TestWorld {
  nowMs = 1_000;
  /** Every dial, in order. */
  readonly dials: { readonly address: string; readonly atMs: number }[] = [];
  #events: Event[] = [];
  #order = 0;
  readonly #hosts = new Map<string, TestHost>();
  readonly #listeners = new Map<string, { readonly host: TestHost; accept(connection: Connection): void }>();

  host(address: string): TestHost {
    const host = new TestHost(this, address);
    this.#hosts.set(address, host);
    return host;
  }

  schedule(delayMs: number, run: () => void, host?: TestHost, phase: Phase = 'poll'): Event {
    this.#order += 1;
    const event: Event = { atMs: this.nowMs + delayMs, phase, order: this.#order, host, run, cancelled: false };
    this.#events.push(event);
    return event;
  }

  /** After everything that this instant still brings. */
  soon(run: () => void): void {
    this.schedule(0, run, undefined, 'check');
  }

  listen(address: string, host: TestHost, accept: (connection: Connection) => void): void {
    this.#listeners.set(address, { host, accept });
  }

  dial(from: TestHost, address: string, timeoutMs: number): Promise<Connection> {
    this.dials.push({ address, atMs: this.nowMs });
    return new Promise((resolve, reject) => {
      const listener = this.#listeners.get(address);
      if (listener === undefined || listener.host.down) {
        this.schedule(LATENCY_MS, () => reject(new DialError('refused', `${address} refused`)), from);
        return;
      }
      const timer = this.schedule(timeoutMs, () => reject(new DialError('timeout', `${address} timed out`)), from);
      // The handshake needs the other side's process: a stopped one never answers it.
      this.schedule(
        LATENCY_MS,
        () => {
          if (timer.cancelled || listener.host.down) return;
          const near = new TestConnection(this, from, address);
          const far = new TestConnection(this, listener.host, from.address);
          near.peer = far;
          far.peer = near;
          from.connections.add(near);
          listener.host.connections.add(far);
          listener.accept(far);
          this.schedule(
            LATENCY_MS,
            () => {
              if (this.nowMs >= timer.atMs) return;
              timer.cancelled = true;
              resolve(near);
            },
            from,
          );
        },
        listener.host,
      );
    });
  }

  /** Runs until the condition holds. @throws when it does not within `maxMs` */
  async until(condition: () => boolean, maxMs = 120_000): Promise<void> {
    const endMs = this.nowMs + maxMs;
    await drainMicrotasks();
    while (!condition()) {
      const event = this.#next(endMs);
      if (event === undefined) throw new Error(`not within ${maxMs} ms of virtual time: ${condition.toString()}`);
      this.nowMs = Math.max(this.nowMs, event.atMs);
      event.run();
      await drainMicrotasks();
    }
  }

  async sleep(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    let over = false;
    this.schedule(
      ms,
      () => {
        over = true;
      },
      undefined,
      'check',
    );
    await this.until(() => over, ms + 1);
    this.nowMs = endMs;
  }

  /** Runs until the promise has settled; returns or throws as it does. */
  async settled<T>(promise: Promise<T>, maxMs = 120_000): Promise<T> {
    let over = false;
    promise.then(
      () => (over = true),
      () => (over = true),
    );
    await this.until(() => over, maxMs);
    return await promise;
  }

  /** The error with which the promise rejects. */
  async rejection(promise: Promise<unknown>): Promise<unknown> {
    try {
      await this.settled(promise);
    } catch (error) {
      return error;
    }
    throw new Error('it did not reject');
  }

  #next(endMs: number): Event | undefined {
    let best: Event | undefined;
    for (const event of this.#events) {
      if (event.host?.paused === true) continue;
      if (best === undefined || isBefore(event, best, this.nowMs)) best = event;
    }
    if (best === undefined || best.atMs > endMs) return undefined;
    this.#events = this.#events.filter((event) => event !== best);
    return best.cancelled ? this.#next(endMs) : best;
  }
}

/** What is overdue runs now: the order among it is that in which it was due, poll phase before check phase. */
function isBefore(left: Event, right: Event, nowMs: number): boolean {
  const leftMs = Math.max(left.atMs, nowMs);
  const rightMs = Math.max(right.atMs, nowMs);
  if (leftMs !== rightMs) return leftMs < rightMs;
  if (left.phase !== right.phase) return PHASES.indexOf(left.phase) < PHASES.indexOf(right.phase);
  return left.atMs === right.atMs ? left.order < right.order : left.atMs < right.atMs;
}

export class TestHost {
  readonly address: string;
  readonly connections = new Set<TestConnection>();
  readonly runtime: ClientRuntime;
  readonly #world: TestWorld;
  /** The event loop stands still: nothing of this host runs, and its sockets stay open. */
  paused = false;
  /** The process is gone: dials are refused. */
  down = false;
  wallOffsetMs = 1_700_000_000_000;
  /** How far the monotonic clock lags behind the world's, as it does when the machine slept. */
  sleptMs = 0;
  /** Timers that are armed. */
  timers = 0;

  constructor(world: TestWorld, address: string) {
    this.#world = world;
    this.address = address;
    this.runtime = { clock: this.#clock(), network: this.#network(), random: seededRandom(address) };
  }

  /** Runs synchronous code of this host that takes so long: no timer and no socket of it is served meanwhile. */
  block(ms: number): void {
    this.#world.nowMs += ms;
  }

  /** Kills the process: its connections close at the other end. */
  crash(): void {
    this.down = true;
    for (const connection of this.connections) connection.destroy();
  }

  #clock(): Clock {
    const world = this.#world;
    return {
      monotonicMs: () => world.nowMs - this.sleptMs,
      wallMs: () => world.nowMs + this.wallOffsetMs,
      setTimer: (delayMs, callback) => {
        this.timers += 1;
        const event = world.schedule(
          Math.max(1, Math.floor(delayMs)),
          () => {
            this.timers -= 1;
            callback();
          },
          this,
          'timer',
        );
        return {
          cancel: () => {
            if (!event.cancelled && world.nowMs < event.atMs) this.timers -= 1;
            event.cancelled = true;
          },
        };
      },
      afterPoll: (callback) => {
        world.schedule(0, callback, this, 'check');
      },
    };
  }

  #network(): Network {
    return {
      listen: (options) => {
        this.#world.listen(options.address, this, (connection) => options.onConnection(connection));
        return Promise.resolve({
          address: options.address,
          load: { sockets: 0, waiting: 0, unfinishedBytes: 0, refused: new Map() },
          close: () => Promise.resolve(),
        });
      },
      dial: ({ address, timeoutMs }) => this.#world.dial(this, address, timeoutMs),
      listenForStreams: () => Promise.reject(new Error('nobody listens for streams here')),
      dialStream: () => Promise.reject(new Error('nobody dials streams here')),
    };
  }
}

class TestConnection implements Connection {
  readonly remoteAddress: string;
  readonly bufferedBytes = 0;
  readonly peerIdentity = undefined;
  readonly receivedBytes = 0;
  readonly #world: TestWorld;
  readonly #host: TestHost;
  peer: TestConnection | undefined;
  #handler: ConnectionHandler | undefined;
  #early: Uint8Array[] = [];
  #closed: string | undefined;

  constructor(world: TestWorld, host: TestHost, remoteAddress: string) {
    this.#world = world;
    this.#host = host;
    this.remoteAddress = remoteAddress;
  }

  get open(): boolean {
    return this.#closed === undefined;
  }

  admit(): void {}

  setHandler(handler: ConnectionHandler): void {
    this.#handler = handler;
    for (const frame of this.#early.splice(0)) handler.frame(frame);
    if (this.#closed !== undefined) handler.close(this.#closed);
  }

  send(frame: Uint8Array): void {
    const { peer } = this;
    if (!this.open || peer === undefined) return;
    const copy = new Uint8Array(frame);
    this.#world.schedule(LATENCY_MS, () => peer.#deliver(copy), peer.#host);
  }

  close(reason = 'closed'): void {
    this.#end(reason);
  }

  destroy(): void {
    this.#end('destroyed');
  }

  #deliver(frame: Uint8Array): void {
    if (!this.open) return;
    if (this.#handler === undefined) this.#early.push(frame);
    else this.#handler.frame(frame);
  }

  #end(reason: string): void {
    if (!this.open) return;
    this.#closed = reason;
    this.#host.connections.delete(this);
    this.#handler?.close(reason);
    const { peer } = this;
    if (peer !== undefined) this.#world.schedule(LATENCY_MS, () => peer.#end(reason), peer.#host);
  }
}

function seededRandom(seed: string): Random {
  let state = 7;
  for (let unit = 0; unit < seed.length; unit += 1) state = (state * 31 + seed.charCodeAt(unit)) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    integer: (bound) => Math.floor(next() * bound),
    bytes: (length) => Uint8Array.from({ length }, () => Math.floor(next() * 256)),
  };
}

/** Everything that promises bring, before the next event. */
function drainMicrotasks(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
