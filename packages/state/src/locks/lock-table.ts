/**
 * The queues of all locks, and the nodes that show them. Every change of a queue is made here. An entry first changes all that it
 * changes; then {@link LockTable.grantPending} looks at each lock that it touched, and grants in queue order. An idle lock loses its container.
 */

import { MalformedError, type LockRequest, type ReleaseRequest } from '@holdfast/protocol';

import { invariant } from '../invariant.ts';
import type { Output } from '../output.ts';
import { ListingIndex } from '../queries/listing-index.ts';
import type { Session } from '../sessions/session.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import type { NodeSlot, NodeStore } from '../tree/node-store.ts';
import { SnapshotError, wellFormed } from '../snapshot-error.ts';
import { ExtraTag } from '../tree/extra-tag.ts';
import { NO_OPTIONS, packOptions, readOptions, sameOptions, type AcquireOptions } from './acquire-options.ts';
import { DelayedLocks } from './delayed-locks.ts';
import { readRequest, unpackRequest, type LockKind } from './kinds/lock-kind.ts';
import { lockProblem, queueNodeName, queueNodeSequence } from './lock-name.ts';
import { readDelay } from './lock-delay.ts';
import { LockPlace } from './lock-place.ts';
import { Lock, QueuedAcquire } from './lock.ts';
import { packReleaseRequest, readReleaseRequest } from './release-request.ts';
import { compareText } from '../text.ts';
import { SessionAcquires } from './session-acquires.ts';

const NO_DATA = new Uint8Array(0);
const NO_ACQUIRES = new SessionAcquires<QueuedAcquire>();

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
  readonly #nodes: NodeStore;
  readonly #sessions: SessionTable;
  readonly #locks = new Map<string, Lock>();
  readonly names = new ListingIndex(this.#locks);
  /** Where new locks get their containers. */
  readonly #place: LockPlace;
  readonly #delayed: DelayedLocks;
  /** A lock at which somebody may be to be granted, or nobody to be left: mostly there is one, and an array that empties is made anew... */
  #firstTouched: Lock | undefined;
  /** ...and the others. */
  readonly #touched: Lock[] = [];
  /** Acquires of this entry that may have closed a deadlock: they wait now, or hold what others wait for. */
  #fresh: QueuedAcquire[] = [];
  /** Holds that are to be released, in no particular order: sort before anything depends on it. */
  readonly #asked = new Set<QueuedAcquire>();
  #holds = 0;
  #waits = 0;
  #aborting = 0;

  constructor(nodes: NodeStore, sessions: SessionTable) {
    this.#nodes = nodes;
    this.#sessions = sessions;
    this.#place = new LockPlace(nodes);
    this.#delayed = new DelayedLocks(nodes);
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

  /** Acquires that wait, and end when they are in a deadlock. */
  get aborting(): number {
    return this.#aborting;
  }

  get delayed(): Pick<DelayedLocks, 'size' | 'claims' | 'inOrder'> {
    return this.#delayed;
  }

  /** Undefined while nobody holds it. */
  get(name: string): Lock | undefined {
    return this.#locks.get(name);
  }

  /** What the session waits for and holds. */
  acquiresOf(session: Session): Readonly<Omit<SessionAcquires<QueuedAcquire>, 'add' | 'remove'>> {
    return (session.locks as SessionAcquires<QueuedAcquire> | undefined) ?? NO_ACQUIRES;
  }

  /** The lock whose container that is; undefined for any other node. */
  lockOf(node: NodeSlot): Lock | undefined {
    if (!this.#place.has(node)) return undefined;
    const lock = this.#lockIn(node);
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
    this.#asked.add(hold);
  }

  /** Holds that are to be released, by the indexes of the requests. */
  toBeReleased(): QueuedAcquire[] {
    const requested = ({ releaseRequest }: QueuedAcquire): number => releaseRequest?.index ?? 0;
    return [...this.#asked].sort((left, right) => requested(left) - requested(right));
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
    const acquire = new QueuedAcquire(session, this.#ownAcquires(session), lock, request, index, node, options);
    lock.waiters.append(acquire);
    this.#waits += 1;
    this.#delayed.joined(acquire);
    return acquire;
  }

  /** @param parts all places of it */
  #beginsToWait(lead: QueuedAcquire, parts: readonly QueuedAcquire[], events: Output[]): void {
    if (lead.options.abortInDeadlock) this.#aborting += 1;
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
    if (lead.releaseRequest !== undefined) this.#asked.delete(lead);
    if (lead.token === 0 && lead.options.abortInDeadlock) this.#aborting -= 1;
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

  /** The nodes are those of a snapshot now; their locks follow. @throws SnapshotError */
  beginRestore(): void {
    this.#place.restore();
  }

  /** The lock of a container that a snapshot of that index has; nobody holds it yet. @throws SnapshotError */
  restoreLock(container: NodeSlot, kind: LockKind, index: number): void {
    const name = this.#place.lockName(container);
    wellFormed(name !== undefined && lockProblem(name) === undefined, () => 'has a lock that cannot be');
    const lock = new Lock(name, kind, container);
    this.#locks.set(name, lock);
    this.names.added(name);
    const bytes = this.#extraOf(container, ExtraTag.lockDelay);
    if (bytes === undefined) return;
    const delay = readDelay(bytes);
    wellFormed(delay !== undefined && delay.index <= index, () => `has a delay of lock ${name} that cannot be`);
    this.#delayed.restore(lock, delay);
  }

  /** Puts an acquire that a snapshot has at the end of its lock's queue. @throws SnapshotError */
  restoreAcquire(node: NodeSlot, token: number, grantedAt: number): void {
    const nodes = this.#nodes;
    const index = nodes.czxid(node);
    const session = this.#sessions.get(nodes.ephemeralOwner(node));
    const lock = this.#lockIn(nodes.parent(node));
    const { mzxid } = nodes.stat(node);
    const sequence = queueNodeSequence(nodes.name(node));
    wellFormed(
      session !== undefined &&
        lock !== undefined &&
        mzxid === (token === 0 ? index : token) &&
        token >= (token === 0 ? 0 : index) &&
        sequence !== undefined &&
        sequence < nodes.creations(lock.container),
      () => `has an acquire ${index} that cannot be`,
    );
    const siblings = this.#ownAcquires(session);
    const request = this.#restoreRequest(lock, node);
    const options = this.#restoreOptions(node, index);
    const acquire = new QueuedAcquire(session, siblings, lock, request, index, node, options);
    this.#restoreReleaseRequest(acquire);
    this.#delayed.joined(acquire);
    const lead = siblings.get(index);
    if (lead === undefined) {
      siblings.add(acquire);
      if (token === 0 && options.abortInDeadlock) this.#aborting += 1;
    } else this.#restorePart(lead, acquire, token, grantedAt);
    if (token === 0) {
      lock.waiters.append(acquire);
      this.#waits += 1;
      return;
    }
    wellFormed(
      lock.kind.mayJoin(lock.holders, request),
      () => `has more holders of lock ${lock.name} than may hold it`,
    );
    acquire.token = token;
    acquire.grantedAt = grantedAt;
    lock.holders.append(acquire);
    siblings.holds += 1;
    this.#holds += 1;
  }

  /** Every lock is held, and by everybody who may. @throws SnapshotError */
  checkRestored(): void {
    let placed = 0;
    for (const lock of this.#locks.values()) {
      if (this.#place.has(lock.container)) placed += 1;
      const next = lock.waiters.first;
      const granted =
        lock.delay !== undefined ||
        (next === undefined ? lock.holders.size > 0 : this.#waitsForSomebody(lock) && !next.grantable);
      wellFormed(granted, () => `has a lock ${lock.name} that is not granted to whom it is free for`);
      const queued = lock.holders.size + lock.waiters.size;
      wellFormed(
        queued === this.#nodes.childCount(lock.container),
        () => `has nodes under lock ${lock.name} that are not in its queue`,
      );
    }
    wellFormed(placed === this.#place.size, () => `has nodes at ${this.#place.path} that are no locks`);
    for (const { lead, lock, token, releaseRequest } of this.#asked) {
      const fits = token !== 0 && releaseRequest !== undefined && releaseRequest.index > token;
      wellFormed(fits && lead.lock === lock, () => `has a request to release lock ${lock.name} that cannot be`);
    }
  }

  #restoreRequest({ name, kind, first }: Lock, node: NodeSlot): LockRequest {
    const parameters = this.#extraOf(node, ExtraTag.requestParameters);
    try {
      const request = parameters === undefined ? readRequest(kind, []) : unpackRequest(kind, parameters);
      const disagreement = first && kind.disagreement(first.request, request);
      wellFormed(disagreement === undefined, () => `has lock ${name}, which ${disagreement}`);
      return request;
    } catch (cause) {
      if (!(cause instanceof MalformedError)) throw cause;
      throw new SnapshotError('MALFORMED', `has ${cause.message}`, { cause });
    }
  }

  #restoreOptions(node: NodeSlot, acquireIndex: number): AcquireOptions {
    const bytes = this.#extraOf(node, ExtraTag.acquireOptions);
    if (bytes === undefined) return NO_OPTIONS;
    const options = readOptions(bytes);
    wellFormed(options !== undefined, () => `has options of acquire ${acquireIndex} that cannot be`);
    return options;
  }

  #restoreReleaseRequest(acquire: QueuedAcquire): void {
    const bytes = this.#extraOf(acquire.node, ExtraTag.releaseRequest);
    if (bytes === undefined) return;
    const request = readReleaseRequest(bytes);
    wellFormed(request !== undefined, () => `has a request to release acquire ${acquire.acquireIndex} that cannot be`);
    acquire.releaseRequest = request;
    this.#asked.add(acquire);
  }

  #extraOf(node: NodeSlot, wanted: number): Uint8Array | undefined {
    return this.#nodes.extras(node).find(({ tag }) => tag === wanted)?.bytes;
  }

  #ownAcquires(session: Session): SessionAcquires<QueuedAcquire> {
    session.locks ??= new SessionAcquires<QueuedAcquire>();
    return session.locks as SessionAcquires<QueuedAcquire>;
  }

  /** Another place of an acquire that a snapshot has. @throws SnapshotError */
  #restorePart(lead: QueuedAcquire, part: QueuedAcquire, token: number, grantedAt: number): void {
    const present = lead.parts ?? [lead];
    const sameGrant = lead.token === token && lead.grantedAt === grantedAt;
    const fits = sameGrant && sameOptions(lead.options, part.options) && lead.partAt(part.lock.name) === undefined;
    wellFormed(fits, () => `has an acquire ${part.acquireIndex} that cannot be`);
    const { siblings } = lead;
    siblings.remove(lead);
    const parts = [...present, part].sort((left, right) => compareText(left.lock.name, right.lock.name));
    for (const each of parts) each.parts = parts;
    siblings.add(part.lead);
    if (token !== 0) siblings.holds += present.length;
  }

  /** Where somebody waits: for a holder, for the end of a delay, or with an acquire of several locks for others of these. */
  #waitsForSomebody({ holders, waiters, delay }: Lock): boolean {
    return holders.size > 0 || delay !== undefined || waiters.first?.parts !== undefined;
  }

  #leave(acquire: QueuedAcquire, index: number): void {
    const { lock } = acquire;
    invariant(acquire.list !== undefined, 'an acquire is removed once');
    invariant(this.#locks.get(lock.name) === lock, 'a queue belongs to a lock that exists');
    if (acquire.token === 0) this.#waits -= 1;
    else this.#holds -= 1;
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
    this.#locks.delete(lock.name);
    this.names.removed();
    this.#nodes.remove(lock.container, index);
  }

  /** To everybody who may hold it now, in queue order. */
  #grantNext(lock: Lock, index: number, stamp: number, outputs: Output[]): void {
    for (;;) {
      const head = lock.waiters.first;
      if (head === undefined || !head.grantable) break;
      this.#grantParts(head, index, stamp);
      const { session, acquireIndex, lead, floor, options } = head;
      if (options.abortInDeadlock) this.#aborting -= 1;
      this.#fresh.push(lead);
      const { name } = lead.lock;
      const granted = { type: 'granted', session: session.id, lock: name, acquireIndex, token: index } as const;
      outputs.push(floor === 0 ? granted : { ...granted, floor });
      for (const part of head.parts ?? [head]) part.lock.grantsAreNew = true;
      for (const part of head.parts ?? []) if (part.lock !== lock) this.#touch(part.lock);
    }
    invariant(this.#waitsForSomebody(lock), 'a lock with waiters has a holder, or waits for another lock');
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
    this.#waits -= 1;
    this.#holds += 1;
    this.#nodes.markGranted(acquire.node, index);
  }

  /** The lock whose container that is. */
  #lockIn(container: NodeSlot): Lock | undefined {
    const name = this.#place.lockName(container);
    const lock = name === undefined ? undefined : this.#locks.get(name);
    return lock?.container === container ? lock : undefined;
  }

  #createLock(name: string, kind: LockKind, index: number, stamp: number): Lock {
    const container = this.#place.createContainer(name, index, stamp);
    const lock = new Lock(name, kind, container);
    this.#locks.set(name, lock);
    this.names.added(name);
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
