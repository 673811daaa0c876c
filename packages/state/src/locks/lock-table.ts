/**
 * The queues of all locks, and the nodes that show them. Every change of a queue is made here. An entry first changes all that it
 * changes; then {@link LockTable.grantPending} looks at each lock that it touched, and grants in queue order. An idle lock loses its container.
 */

import type { LockRequest, ReleaseRequest } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import type { Output } from '../output.ts';
import type { ListingIndex } from '../queries/listing-index.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import type { NodeSlot, NodeStore } from '../tree/node-store.ts';
import { ExtraTag } from '../tree/extra-tag.ts';
import { NO_OPTIONS, packOptions, type AcquireOptions } from './acquire-options.ts';
import type { DelayedLocks } from './delayed-locks.ts';
import type { LockKind } from './kinds/lock-kind.ts';
import { queueNodeName } from './lock-name.ts';
import { LockRestore } from './lock-restore.ts';
import { LockStore, waitsForSomebody, type AcquiresOfSession } from './lock-store.ts';
import { Lock, QueuedAcquire } from './lock.ts';
import type { RecurringMap } from '../recurring-map.ts';
import { packReleaseRequest } from './release-request.ts';
import { compareText } from '../text.ts';

const NO_DATA = new Uint8Array(0);

/** What an acquire wants of a lock. */
export interface Asked {
  readonly kind: LockKind;
  readonly request: LockRequest;
  /** The request's, as its node keeps them; undefined for none. */
  readonly parameters: Uint8Array | undefined;
  /** Those of the whole acquire. */
  readonly options: AcquireOptions;
}

/** The same with the lock's name. */
export interface Wanted extends Asked {
  readonly lock: string;
}

/** Of the entry that is being applied. */
export interface Moment {
  readonly index: number;
  readonly stamp: number;
  /** What it has done so far. */
  readonly events: Output[];
}

export class LockTable {
  readonly #store: LockStore;
  readonly #nodes: NodeStore;
  readonly #sessions: SessionTable;
  readonly #locks: RecurringMap<string, Lock>;
  readonly #delayed: DelayedLocks;
  /** A lock at which somebody may be to be granted, or nobody to be left: mostly there is one, and an array that empties is made anew... */
  #firstTouched: Lock | undefined;
  /** ...and the others. */
  readonly #touched: Lock[] = [];
  /** Acquires of this entry that may have closed a deadlock: they wait now, or hold what others wait for. */
  #fresh: QueuedAcquire[] = [];

  constructor(nodes: NodeStore, sessions: SessionTable) {
    this.#store = new LockStore(nodes, sessions);
    this.#nodes = nodes;
    this.#sessions = sessions;
    this.#locks = this.#store.locks;
    this.#delayed = this.#store.delayed;
  }

  get names(): ListingIndex<string> {
    return this.#store.names;
  }

  get size(): number {
    return this.#locks.size;
  }

  get holds(): number {
    return this.#store.holds;
  }

  get waits(): number {
    return this.#store.waits;
  }

  /** Acquires that wait, and end when they are in a deadlock. */
  get aborting(): number {
    return this.#store.aborting;
  }

  get delayed(): Pick<DelayedLocks, 'size' | 'claims' | 'inOrder'> {
    return this.#delayed;
  }

  /** Undefined while nobody holds it. */
  get(name: string): Lock | undefined {
    return this.#locks.get(name);
  }

  /** What the session waits for and holds. */
  acquiresOf(session: Session): AcquiresOfSession {
    return this.#store.acquiresOf(session);
  }

  /** The lock whose container that is; undefined for any other node. */
  lockOf(node: NodeSlot): Lock | undefined {
    const { place } = this.#store;
    if (!place.has(node)) return undefined;
    const lock = this.#store.lockIn(node);
    invariant(lock !== undefined, 'a container has its lock');
    return lock;
  }

  /** The acquire whose queue node that is; undefined for any other node. */
  acquireOf(node: NodeSlot): QueuedAcquire | undefined {
    const owner = this.#nodes.ephemeralOwner(node);
    if (owner === 0) return undefined;
    const session = this.#sessions.get(owner);
    const lead = session && this.acquiresOf(session).get(this.#nodes.czxid(node));
    const acquire = lead?.parts === undefined ? lead : lead.parts.find((part) => part.node === node);
    if (acquire?.node === node) return acquire;
    invariant(this.lockOf(this.#nodes.parent(node)) === undefined, 'a queue node has its acquire');
    return undefined;
  }

  /** The nodes are those of a snapshot now; their locks follow. @throws SnapshotError */
  beginRestore(): LockRestore {
    return new LockRestore(this.#store);
  }

  /** Puts an acquire at the end of the queue, and grants it if nobody is in its way. */
  enqueue(session: Session, name: string, asked: Asked, { index, stamp, events }: Moment): QueuedAcquire {
    const acquire = this.#join(session, name, asked, index, stamp);
    acquire.siblings.add(acquire);
    if (acquire.grantable) this.#grant(acquire, index, stamp);
    else this.#beginsToWait(acquire, [acquire], events);
    return acquire;
  }

  /** The same of several locks, in order of their names: one acquire, at the end of each queue. */
  enqueueSeveral(session: Session, wanted: readonly Wanted[], { index, stamp, events }: Moment): QueuedAcquire {
    const parts = wanted.map((asked) => this.#join(session, asked.lock, asked, index, stamp));
    for (const part of parts) part.parts = parts;
    const [lead] = parts;
    invariant(lead !== undefined, 'an acquire is of a lock');
    lead.siblings.add(lead);
    if (lead.grantable) this.#grantParts(lead, index, stamp);
    else this.#beginsToWait(lead, parts, events);
    return lead;
  }

  /** In place of an earlier request. */
  requestRelease(hold: QueuedAcquire, request: ReleaseRequest): void {
    invariant(hold.lead === hold && hold.list === hold.lock.holders, 'what is to be released is a hold');
    this.#nodes.setExtra(hold.node, ExtraTag.releaseRequest, packReleaseRequest(request));
    hold.releaseRequest = request;
    this.#store.asked.add(hold);
  }

  /** Holds that are to be released, by the indexes of the requests. */
  toBeReleased(): QueuedAcquire[] {
    const requested = ({ releaseRequest }: QueuedAcquire): number => releaseRequest?.index ?? 0;
    return [...this.#store.asked].sort((left, right) => requested(left) - requested(right));
  }

  /** What may have closed a deadlock since this was asked last: waits that have begun, and grants of what others wait for. */
  takeFresh(): readonly QueuedAcquire[] {
    const fresh = this.#fresh;
    if (fresh.length > 0) this.#fresh = [];
    return fresh;
  }

  #join(session: Session, name: string, asked: Asked, index: number, stamp: number): QueuedAcquire {
    const { kind, request, parameters, options } = asked;
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
    if (parameters !== undefined) this.#nodes.setExtra(node, ExtraTag.requestParameters, parameters);
    const kept = options === NO_OPTIONS ? undefined : packOptions(options);
    if (kept !== undefined) this.#nodes.setExtra(node, ExtraTag.acquireOptions, kept);
    const acquire = new QueuedAcquire(session, this.#store.ownAcquires(session), lock, request, index, node, options);
    lock.waiters.append(acquire);
    this.#store.waits += 1;
    this.#delayed.joined(acquire);
    return acquire;
  }

  /** @param parts all places of it */
  #beginsToWait(lead: QueuedAcquire, parts: readonly QueuedAcquire[], events: Output[]): void {
    if (lead.options.abortInDeadlock) this.#store.aborting += 1;
    this.#fresh.push(lead);
    for (const part of parts) reportFirstWait(part, events);
  }

  /** Takes a wait or hold out of all its queues and out of its session; {@link grantPending} must follow before the entry ends. */
  remove(acquire: QueuedAcquire, index: number): void {
    // What its reply cache answers of the acquire is another answer from now on.
    this.#sessions.changing(acquire.session);
    const { parts } = acquire;
    // A snapshot may be about to write them as they are.
    if (parts === undefined) this.#nodes.changing(acquire.node);
    else for (const part of parts) this.#nodes.changing(part.node);
    const { lead } = acquire;
    acquire.siblings.remove(lead);
    if (lead.releaseRequest !== undefined) this.#store.asked.delete(lead);
    if (lead.token === 0 && lead.options.abortInDeadlock) this.#store.aborting -= 1;
    if (parts === undefined) this.#leave(acquire, index);
    else for (const part of parts) this.#leave(part, index);
  }

  /**
   * The acquire is about to be taken away from its session: where it is a hold that asks for a delay, nobody is granted its locks until that is
   * over. {@link remove} must follow.
   */
  delay(acquire: QueuedAcquire, index: number, stamp: number): void {
    const { token, options } = acquire;
    const { lockDelayMs: delayMs } = options;
    if (token === 0 || delayMs === 0) return;
    for (const { lock } of acquire.parts ?? [acquire]) {
      this.#delayed.begin(lock, { index, delayMs, since: stamp, token });
    }
  }

  /** False, without effect, for a lock that is not delayed by that index; otherwise {@link grantPending} must follow before the entry ends. */
  endDelay(name: string, index: number): boolean {
    const lock = this.#locks.get(name);
    if (lock === undefined || lock.delay?.index !== index) return false;
    this.#delayed.end(lock);
    this.#touch(lock);
    return true;
  }

  /** A hold asks for something else of the lock from now on; {@link grantPending} must follow before the entry ends. */
  change(hold: QueuedAcquire, request: LockRequest, parameters: Uint8Array | undefined): void {
    const { lock } = hold;
    invariant(hold.list === lock.holders, 'what changes is a hold');
    invariant(lock.kind.weight(request) === hold.weight, 'a hold keeps its weight');
    this.#nodes.setExtra(hold.node, ExtraTag.requestParameters, parameters);
    hold.request = request;
    this.#touch(lock);
  }

  /** Looks at every lock that the entry has touched, in order of names: an idle one goes, others are granted to all who may hold them now. */
  grantPending(index: number, stamp: number, outputs: Output[]): void {
    const touched = this.#touched;
    const first = this.#firstTouched;
    if (first === undefined) return;
    // A grant of several locks may touch the others of them.
    if (touched.length === 0) this.#settle(first, index, stamp, outputs);
    else {
      touched.push(first);
      touched.sort((left, right) => compareText(left.name, right.name));
    }
    for (let at = 0; at < touched.length; at += 1) {
      const lock = touched[at];
      invariant(lock !== undefined, 'a touched lock is in the list');
      this.#settle(lock, index, stamp, outputs);
    }
    if (touched.length > 0) touched.length = 0;
    this.#firstTouched = undefined;
  }

  #settle(lock: Lock, index: number, stamp: number, outputs: Output[]): void {
    lock.touched = false;
    if (lock.idle) this.#removeLock(lock, index);
    else {
      this.#grantNext(lock, index, stamp, outputs);
      report(lock, index, outputs);
    }
  }

  #leave(acquire: QueuedAcquire, index: number): void {
    const { lock } = acquire;
    invariant(acquire.list !== undefined, 'an acquire is removed once');
    invariant(this.#locks.get(lock.name) === lock, 'a queue belongs to a lock that exists');
    if (acquire.token === 0) this.#store.waits -= 1;
    else this.#store.holds -= 1;
    if (acquire.token !== 0 && lock.floorBefore === 0) lock.floorBefore = lock.floor;
    this.#delayed.left(acquire);
    acquire.list.remove(acquire);
    // A reply cache may keep one of them for long.
    acquire.parts = undefined;
    this.#nodes.remove(acquire.node, index);
    this.#touch(lock);
  }

  #touch(lock: Lock): void {
    if (lock.touched) return;
    lock.touched = true;
    if (this.#firstTouched === undefined) this.#firstTouched = lock;
    else this.#touched.push(lock);
  }

  #removeLock(lock: Lock, index: number): void {
    this.#nodes.changing(lock.container);
    this.#store.delete(lock);
    this.#nodes.remove(lock.container, index);
  }

  /** To everybody who may hold it now, in queue order. */
  #grantNext(lock: Lock, index: number, stamp: number, outputs: Output[]): void {
    for (;;) {
      const head = lock.waiters.first;
      if (head === undefined || !head.grantable) break;
      this.#grantParts(head, index, stamp);
      const { session, acquireIndex, lead, floor, options } = head;
      if (options.abortInDeadlock) this.#store.aborting -= 1;
      this.#fresh.push(lead);
      const { name } = lead.lock;
      const granted = { type: 'granted', session: session.id, lock: name, acquireIndex, token: index } as const;
      outputs.push(floor === 0 ? granted : { ...granted, floor });
      for (const part of head.parts ?? [head]) part.lock.grantsAreNew = true;
      for (const part of head.parts ?? []) if (part.lock !== lock) this.#touch(part.lock);
    }
    invariant(waitsForSomebody(lock), 'a lock with waiters has a holder, or waits for another lock');
  }

  #grantParts(acquire: QueuedAcquire, index: number, stamp: number): void {
    if (acquire.parts === undefined) this.#grant(acquire, index, stamp);
    else for (const part of acquire.parts) this.#grant(part, index, stamp);
  }

  #grant(acquire: QueuedAcquire, index: number, stamp: number): void {
    const { lock, session } = acquire;
    invariant(this.#sessions.get(session.id) === session, 'a lock is granted to a living session');
    invariant(acquire.token === 0 && acquire.list === lock.waiters, 'a grant goes to a wait');
    invariant(index >= acquire.acquireIndex, 'a token is not below the acquire index');
    this.#nodes.changing(acquire.node);
    lock.waiters.remove(acquire);
    acquire.token = index;
    acquire.grantedAt = stamp;
    lock.holders.append(acquire);
    acquire.siblings.holds += 1;
    this.#store.waits -= 1;
    this.#store.holds += 1;
    this.#nodes.markGranted(acquire.node, index);
  }

  #createLock(name: string, kind: LockKind, index: number, stamp: number): Lock {
    const lock = new Lock(name, kind, this.#store.place.createContainer(name, index, stamp));
    this.#store.add(lock);
    return lock;
  }
}

/** Those who hold the lock are to hear that somebody waits for it: the first who does. */
function reportFirstWait({ lock }: QueuedAcquire, outputs: Output[]): void {
  if (lock.waiters.size === 1 && lock.holders.size > 0) outputs.push({ type: 'contended', lock: lock.name });
}

/** What the entry has done to a lock that is still in use, beside the grants themselves. */
function report(lock: Lock, index: number, outputs: Output[]): void {
  const { name, delay, floor, floorBefore } = lock;
  if (lock.delayIsNew && delay !== undefined)
    outputs.push({ type: 'lockDelayed', lock: name, index: delay.index, delayMs: delay.delayMs });
  // Whom this entry has granted it was told the floor with the grant.
  if (floorBefore !== 0 && floor > floorBefore && floor < index)
    outputs.push({ type: 'floorRaised', lock: name, floor });
  if (lock.grantsAreNew && lock.waiters.size > 0) outputs.push({ type: 'contended', lock: name });
  lock.delayIsNew = false;
  lock.floorBefore = 0;
  lock.grantsAreNew = false;
}
