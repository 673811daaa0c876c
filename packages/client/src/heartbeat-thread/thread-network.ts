/**
 * A network whose sockets live in a thread of their own, which renews sessions while the application's thread stands still. The thread is
 * started by the first dial, and ends when it has had no connection for a while. As a socket does, it keeps the process alive while there is a
 * connection or a dial, and not longer.
 */

import { Worker } from 'node:worker_threads';
import { DialError, type Connection, type ConnectionHandler, type DialOptions, type Network } from '@holdfast/runtime';
import { nowUs, sharedNumbers, type FromThread, type ThreadOptions, type ToThread } from './messages.ts';
import type { RenewingConnection, Renewals } from './renewing-connection.ts';

/** A thread without a connection is ended after that. */
const IDLE_MS = 10_000;
/** So often the application's thread shows that it runs, in a session timeout. */
const SIGNS_PER_TIMEOUT = 20;
const MAX_SIGN_MS = 500;

export interface ThreadNetworkOptions {
  readonly sessionTimeoutMs: number;
  readonly maxStallMs: number;
}

/** Everything but dialling is as in `network`. */
export function threadNetwork(network: Network, options: ThreadNetworkOptions): Network {
  const thread = new HeartbeatThread(options);
  return { ...network, dial: (dialOptions) => thread.dial(dialOptions) };
}

interface Dial {
  readonly resolve: (connection: Connection) => void;
  readonly reject: (error: DialError) => void;
}

class HeartbeatThread {
  readonly #options: ThreadNetworkOptions;
  readonly #alive = new BigInt64Array(sharedNumbers(1));
  readonly #dials = new Map<number, Dial>();
  readonly #connections = new Map<number, ThreadConnection>();
  #worker: Worker | undefined;
  #signs: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;

  constructor(options: ThreadNetworkOptions) {
    this.#options = options;
  }

  dial({ address, timeoutMs, acceptedTimeoutMs, maxFrameBytes }: DialOptions): Promise<Connection> {
    clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#dials.set(id, { resolve, reject });
      this.tell({ type: 'dial', id, address, timeoutMs, acceptedTimeoutMs, maxFrameBytes });
    });
  }

  tell(message: ToThread, transfer: readonly ArrayBuffer[] = []): void {
    this.#worker?.postMessage(message, [...transfer]);
  }

  #start(): Worker {
    const { sessionTimeoutMs, maxStallMs } = this.#options;
    const sign = (): void => void Atomics.store(this.#alive, 0, nowUs());
    sign();
    this.#signs = setInterval(sign, Math.min(MAX_SIGN_MS, sessionTimeoutMs / SIGNS_PER_TIMEOUT)).unref();
    const workerData: ThreadOptions = { alive: this.#alive.buffer as SharedArrayBuffer, maxStallMs };
    const worker = new Worker(new URL('./heartbeat-thread.js', import.meta.url), {
      name: 'holdfast-heartbeats',
      workerData,
    });
    worker.on('message', (message: FromThread) => this.#hear(message));
    worker.on('error', (error) => this.#failed(worker, error.message));
    worker.on('exit', () => this.#failed(worker, 'it has ended'));
    return worker;
  }

  #hear(message: FromThread): void {
    const { id } = message;
    const dial = this.#dials.get(id);
    switch (message.type) {
      case 'dialled': {
        const connection = new ThreadConnection(id, message.remoteAddress, this);
        this.#dials.delete(id);
        this.#connections.set(id, connection);
        dial?.resolve(connection);
        return;
      }
      case 'refused': {
        const { failure, message: text, againInMs, accepted } = message;
        this.#dials.delete(id);
        const options = againInMs === undefined ? { accepted } : { accepted, againInMs };
        dial?.reject(new DialError(failure, text, options));
        this.#checkIdle();
        return;
      }
      case 'frame':
        this.#connections.get(id)?.received(message.frame);
        return;
      case 'closed':
        this.#closed(id, message.reason);
    }
  }

  #closed(id: number, reason: string): void {
    const connection = this.#connections.get(id);
    this.#connections.delete(id);
    connection?.closed(reason);
    this.#checkIdle();
  }

  #checkIdle(): void {
    if (this.#connections.size > 0 || this.#dials.size > 0) return;
    this.#worker?.unref();
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
  }

  #end(): void {
    clearInterval(this.#signs);
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }

  /** What it carried is lost, as with a machine between here and the servers; the next dial starts another. */
  #failed(worker: Worker, problem: string): void {
    if (this.#worker !== worker) return;
    this.#end();
    const text = `the heartbeat thread has failed: ${problem}`;
    for (const [id, dial] of this.#dials) {
      this.#dials.delete(id);
      dial.reject(new DialError('failed', text));
    }
    for (const id of this.#connections.keys()) this.#closed(id, text);
  }
}

class ThreadConnection implements RenewingConnection {
  readonly remoteAddress: string;
  readonly peerIdentity = undefined;
  /** Unknown here: what was sent is the other thread's. A client bounds what it sends by the answers that it waits for. */
  readonly bufferedBytes = 0;
  readonly #id: number;
  readonly #thread: HeartbeatThread;
  #handler: ConnectionHandler | undefined;
  #early: Uint8Array[] = [];
  #receivedBytes = 0;
  #closed: string | undefined;
  /** By this end: no more frames are handed over. */
  #left = false;

  constructor(id: number, remoteAddress: string, thread: HeartbeatThread) {
    this.#id = id;
    this.remoteAddress = remoteAddress;
    this.#thread = thread;
  }

  get open(): boolean {
    return this.#closed === undefined && !this.#left;
  }

  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  admit(): void {}

  setHandler(handler: ConnectionHandler): void {
    this.#handler = handler;
    for (const frame of this.#early.splice(0)) handler.frame(frame);
    if (this.#closed !== undefined) handler.close(this.#closed);
  }

  send(frame: Uint8Array): void {
    if (!this.open) return;
    // A view of a larger buffer would take all of it along.
    const own = frame.slice();
    this.#thread.tell({ type: 'send', id: this.#id, frame: own }, [own.buffer]);
  }

  close(reason?: string): void {
    if (!this.open) return;
    this.#left = true;
    this.#thread.tell({ type: 'close', id: this.#id, reason });
  }

  destroy(): void {
    if (this.#closed !== undefined) return;
    this.#left = true;
    this.#thread.tell({ type: 'destroy', id: this.#id });
  }

  renewEvery(intervalMs: number): Renewals {
    const renewed = new BigInt64Array(sharedNumbers(2));
    // This clock first: the difference is rather too large, and an instant rather too early.
    const monotonicMs = performance.now();
    const differenceMs = Number(nowUs()) / 1_000 - monotonicMs;
    const buffer = renewed.buffer as SharedArrayBuffer;
    this.#thread.tell({ type: 'renew', id: this.#id, intervalMs, renewed: buffer });
    return () => {
      // The wall clock first, as it is written last.
      const wallMs = Number(Atomics.load(renewed, 1));
      const us = Number(Atomics.load(renewed, 0));
      return us === 0 || wallMs === 0 ? undefined : { monotonicMs: us / 1_000 - differenceMs, wallMs };
    };
  }

  received(frame: Uint8Array): void {
    this.#receivedBytes += frame.length;
    if (!this.open) return;
    if (this.#handler === undefined) this.#early.push(frame);
    else this.#handler.frame(frame);
  }

  closed(reason: string): void {
    this.#closed = reason;
    this.#handler?.close(reason);
  }
}
