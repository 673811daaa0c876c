/**
 * The queues of all locks, and the nodes under /locks that show them. Every change of a queue is made here. An entry first removes
 * all that it removes, then lets each lock that it touched settle: grants in queue order, and no container for an idle lock.
 */

import { LOCKS_PATH, type LockKindNumber } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import type { Output } from '../output.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import type { NodeSlot, NodeStore } from '../tree/node-store.ts';
import { containerName, queueNodeName } from './lock-name.ts';
import { Lock } from './lock.ts';
import { QueuedAcquire } from './queued-acquire.ts';

const NO_DATA = new Uint8Array(0);

export class LockTable {
  readonly #nodes: NodeStore;
  readonly #sessions: SessionTable;
  readonly #locks = new Map<string, Lock>();
  readonly #top: NodeSlot;
  #holds = 0;
  #waits = 0;

  constructor(nodes: NodeStore, sessions: SessionTable) {
    this.#nodes = nodes;
    this.#sessions = sessions;
    this.#top = nodes.create({
      parent: nodes.root,
      name: LOCKS_PATH.slice(1),
      data: NO_DATA,
      ephemeralOwner: 0,
      index: 0,
      stamp: 0,
    });
  }

  get size(): number {
    return this.#locks.size;
  }

  get holds(): number {
    return this.#holds;
  }

  get waits(): number {
    return this.#waits;
  }

  /** Undefined while nobody holds it. */
  get(name: string): Lock | undefined {
    return this.#locks.get(name);
  }

  /** In no particular order: sort before anything depends on it. */
  values(): Iterable<Lock> {
    return this.#locks.values();
  }

  /** The acquire whose queue node that is; undefined for any other node. */
  acquireOf(node: NodeSlot): QueuedAcquire | undefined {
    const container = this.#nodes.parent(node);
    if (container === this.#nodes.root || this.#nodes.parent(container) !== this.#top) return undefined;
    const session = this.#sessions.get(this.#nodes.ephemeralOwner(node));
    const acquire = session?.acquires.get(this.#nodes.czxid(node));
    invariant(acquire?.node === node, 'a queue node has its acquire');
    return acquire;
  }

  /** Puts an acquire at the end of the queue, and grants it if nobody is in its way. */
  enqueue(session: Session, name: string, kind: LockKindNumber, index: number, stamp: number): QueuedAcquire {
    const lock = this.#locks.get(name) ?? this.#createLock(name, kind, index, stamp);
    invariant(lock.kind === kind, 'all acquires of a lock are of its kind');
    const node = this.#nodes.create({
      parent: lock.container,
      name: queueNodeName(this.#nodes.creations(lock.container)),
      data: NO_DATA,
      ephemeralOwner: session.id,
      index,
      stamp,
    });
    const acquire = new QueuedAcquire(session, lock, index, node);
    session.addAcquire(acquire);
    const free = lock.free;
    lock.waiters.append(acquire);
    this.#waits += 1;
    if (free) this.#grant(acquire, index, stamp);
    return acquire;
  }

  /** Takes a wait or hold out of its queue and out of its session; its lock must settle before the entry ends. */
  remove(acquire: QueuedAcquire, index: number): void {
    const { lock, session } = acquire;
    invariant(acquire.list !== undefined, 'an acquire is removed once');
    if (acquire.token === 0) this.#waits -= 1;
    else this.#holds -= 1;
    acquire.list.remove(acquire);
    session.removeAcquire(acquire);
    invariant(this.#locks.get(lock.name) === lock, 'a queue belongs to a lock that exists');
    this.#nodes.remove(acquire.node, index);
  }

  /** Removes the lock if it is idle; otherwise grants it to everybody who may hold it now, in queue order. */
  settle(lock: Lock, index: number, stamp: number, outputs: Output[]): void {
    if (lock.idle) {
      this.#locks.delete(lock.name);
      this.#nodes.remove(lock.container, index);
      return;
    }
    for (;;) {
      const head = lock.waiters.first;
      if (head === undefined || !lock.rule.mayHold(lock.holders)) break;
      this.#grant(head, index, stamp);
      outputs.push({
        type: 'granted',
        session: head.session.id,
        lock: lock.name,
        acquireIndex: head.acquireIndex,
        token: index,
      });
    }
    invariant(lock.holders.size > 0, 'a lock with waiters has a holder');
  }

  #grant(acquire: QueuedAcquire, index: number, stamp: number): void {
    const { lock, session } = acquire;
    invariant(this.#sessions.get(session.id) === session, 'a lock is granted to a living session');
    invariant(acquire.token === 0 && acquire.list === lock.waiters, 'a grant goes to a wait');
    invariant(index >= acquire.acquireIndex, 'a token is not below the acquire index');
    lock.waiters.remove(acquire);
    acquire.token = index;
    acquire.grantedAt = stamp;
    lock.holders.append(acquire);
    session.holds += 1;
    this.#waits -= 1;
    this.#holds += 1;
    this.#nodes.markGranted(acquire.node, index);
  }

  #createLock(name: string, kind: LockKindNumber, index: number, stamp: number): Lock {
    const container = this.#nodes.create({
      parent: this.#top,
      name: containerName(name),
      data: NO_DATA,
      ephemeralOwner: 0,
      index,
      stamp,
    });
    const lock = new Lock(name, kind, container);
    this.#locks.set(name, lock);
    return lock;
  }
}
