/** One etcd client: a lease, and the lock of clientv3's `concurrency.Mutex`, over a gRPC connection of its own. */

import type { OpenOptions, RawSession } from '../raw-session.ts';
import { GrpcConnection } from './http2.ts';
import * as etcd from './messages.ts';

/** What the servers allow in one transaction by default. */
const MAX_TXN_OPERATIONS = 128;
const ignore = (): void => undefined;

export function openEtcdSession(options: OpenOptions, opened: (session: RawSession) => void): void {
  const session = new EtcdSession(options, () => opened(session));
}

interface Watched {
  readonly armed: () => void;
  readonly changed: (watchId: number) => void;
}

class EtcdSession implements RawSession {
  readonly watch = (node: string, armed: () => void, changed: () => void): void => {
    // A watch tells on until it is cancelled: here that waits, so that it is not part of what is measured.
    for (const watchId of this.#over.splice(0)) this.#cancelWatch(watchId);
    this.#startWatch(node, 0, armed, (watchId) => {
      this.#over.push(watchId);
      changed();
    });
  };

  readonly #connection: GrpcConnection;
  readonly #options: OpenOptions;
  #lease = 0n;
  #keepAlive: NodeJS.Timeout | undefined;
  #lockKey = '';
  #sendWatch: ((message: Buffer) => void) | undefined;
  /** Created in the order in which they were asked for. */
  readonly #creating: Watched[] = [];
  readonly #watches = new Map<number, Watched>();
  /** Watches that have told their change, and are to be cancelled. */
  readonly #over: number[] = [];

  constructor(options: OpenOptions, ready: () => void) {
    this.#options = options;
    const { address, sessionTimeoutMs } = options;
    this.#connection = new GrpcConnection(
      address,
      () => {
        const request = etcd.leaseGrantRequest(Math.ceil(sessionTimeoutMs / 1_000));
        this.#connection.unary(etcd.Method.leaseGrant, request.finish(), (bytes) => {
          this.#lease = etcd.readLeaseId(bytes);
          this.#keepLease(sessionTimeoutMs / 3);
          ready();
        });
      },
      (error) => {
        clearInterval(this.#keepAlive);
        options.onFailure(error);
      },
    );
  }

  acquire(lock: string, granted: () => void): void {
    const prefix = `${lock}/`;
    this.#lockKey = `${prefix}${this.#lease.toString(16)}`;
    const request = etcd.lockRequest(this.#lockKey, prefix, this.#lease);
    this.#connection.unary(etcd.Method.txn, request.finish(), (bytes) => {
      const { revision, owner } = etcd.readLock(bytes);
      if (owner === undefined || owner.key === this.#lockKey) granted();
      else this.#waitForDeletes(prefix, revision - 1, granted);
    });
  }

  release(done: () => void): void {
    this.#connection.unary(etcd.Method.deleteRange, etcd.deleteRequest(this.#lockKey).finish(), done);
  }

  write(node: string, data: Uint8Array, done: () => void): void {
    this.#connection.unary(etcd.Method.put, etcd.putRequest(node, data).finish(), done);
  }

  linearizableRead(node: string, done: () => void): void {
    this.#connection.unary(etcd.Method.range, etcd.rangeRequest(node).finish(), done);
  }

  sessionRead(node: string, done: () => void): void {
    this.#connection.unary(etcd.Method.range, etcd.rangeRequest(node, true).finish(), done);
  }

  createEphemeral(node: string, data: Uint8Array, done: () => void): void {
    this.#connection.unary(etcd.Method.put, etcd.putRequest(node, data, this.#lease).finish(), done);
  }

  createNodes(nodes: readonly string[], data: Uint8Array, done: () => void): void {
    let left = Math.ceil(nodes.length / MAX_TXN_OPERATIONS);
    for (let at = 0; at < nodes.length; at += MAX_TXN_OPERATIONS) {
      const request = etcd.putAllRequest(nodes.slice(at, at + MAX_TXN_OPERATIONS), data);
      this.#connection.unary(etcd.Method.txn, request.finish(), () => {
        left -= 1;
        if (left === 0) done();
      });
    }
  }

  transaction(nodes: readonly string[], data: Uint8Array, done: () => void): void {
    this.#connection.unary(etcd.Method.txn, etcd.putAllRequest(nodes, data).finish(), done);
  }

  prepareLock(_lock: string, done: () => void): void {
    done();
  }

  close(done: () => void): void {
    this.#connection.unary(etcd.Method.leaseRevoke, etcd.leaseRequest(this.#lease).finish(), () => {
      this.destroy();
      done();
    });
  }

  destroy(): void {
    clearInterval(this.#keepAlive);
    this.#connection.destroy();
  }

  /** `waitDeletes` of the client: until nobody is left who came before. */
  #waitForDeletes(prefix: string, maxCreateRevision: number, granted: () => void): void {
    const request = etcd.lastBeforeRequest(prefix, maxCreateRevision);
    this.#connection.unary(etcd.Method.range, request.finish(), (bytes) => {
      const { revision, first } = etcd.readRange(bytes);
      if (first === undefined) granted();
      else
        this.#startWatch(first.key, revision, ignore, (watchId) => {
          this.#cancelWatch(watchId);
          this.#waitForDeletes(prefix, maxCreateRevision, granted);
        });
    });
  }

  #startWatch(key: string, revision: number, armed: () => void, changed: (watchId: number) => void): void {
    this.#sendWatch ??= this.#connection.stream(etcd.Method.watch, {
      message: (bytes) => this.#watchMessage(bytes),
      ended: () => this.#options.onFailure(new Error('etcd ended the watch stream')),
    });
    this.#creating.push({ armed, changed });
    this.#sendWatch(etcd.watchRequest(key, revision).finish());
  }

  #watchMessage(bytes: Buffer): void {
    const { watchId, created, events } = etcd.readWatch(bytes);
    if (created) {
      const watched = this.#creating.shift();
      if (watched === undefined) return;
      this.#watches.set(watchId, watched);
      watched.armed();
    }
    const watched = this.#watches.get(watchId);
    if (events === 0 || watched === undefined) return;
    this.#watches.delete(watchId);
    this.#connection.turn(() => watched.changed(watchId));
  }

  #cancelWatch(watchId: number): void {
    this.#sendWatch?.(etcd.cancelWatchRequest(watchId).finish());
  }

  #keepLease(intervalMs: number): void {
    const send = this.#connection.stream(etcd.Method.leaseKeepAlive, { message: ignore });
    this.#keepAlive = setInterval(() => send(etcd.leaseRequest(this.#lease).finish()), intervalMs);
  }
}
