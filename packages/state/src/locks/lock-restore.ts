/** The locks that a snapshot brings: first each container with its lock, then whoever waits for it or holds it, in order of the queue. */

import { MalformedError, type LockRequest } from '@holdfast/protocol';

import { SnapshotError, wellFormed } from '../snapshot-error.ts';
import { compareText } from '../text.ts';
import { ExtraTag } from '../tree/extra-tag.ts';
import type { NodeSlot } from '../tree/node-store.ts';
import { NO_OPTIONS, readOptions, sameOptions, type AcquireOptions } from './acquire-options.ts';
import { readRequest, unpackRequest, type LockKind } from './kinds/lock-kind.ts';
import { readDelay } from './lock-delay.ts';
import { lockProblem, queueNodeSequence } from './lock-name.ts';
import { waitsForSomebody, type LockStore } from './lock-store.ts';
import { Lock, QueuedAcquire } from './lock.ts';
import { readReleaseRequest } from './release-request.ts';

export class LockRestore {
  readonly #store: LockStore;

  /** @throws SnapshotError */
  constructor(store: LockStore) {
    this.#store = store;
    store.place.restore();
  }

  /** The lock of a container that a snapshot of that index has; nobody holds it yet. @throws SnapshotError */
  addLock(container: NodeSlot, kind: LockKind, index: number): void {
    const { place, delayed } = this.#store;
    const name = place.lockName(container);
    wellFormed(name !== undefined && lockProblem(name) === undefined, () => 'has a lock that cannot be');
    const lock = new Lock(name, kind, container);
    this.#store.add(lock);
    const bytes = this.#extraOf(container, ExtraTag.lockDelay);
    if (bytes === undefined) return;
    const delay = readDelay(bytes);
    wellFormed(delay !== undefined && delay.index <= index, () => `has a delay of lock ${name} that cannot be`);
    delayed.restore(lock, delay);
  }

  /** Puts an acquire that a snapshot has at the end of its lock's queue. @throws SnapshotError */
  addAcquire(node: NodeSlot, token: number, grantedAt: number): void {
    const { nodes, sessions, delayed } = this.#store;
    const index = nodes.czxid(node);
    const session = sessions.get(nodes.ephemeralOwner(node));
    const lock = this.#store.lockIn(nodes.parent(node));
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
    const siblings = this.#store.ownAcquires(session);
    const request = this.#restoreRequest(lock, node);
    const options = this.#restoreOptions(node, index);
    const acquire = new QueuedAcquire(session, siblings, lock, request, index, node, options);
    this.#restoreReleaseRequest(acquire);
    delayed.joined(acquire);
    const lead = siblings.get(index);
    if (lead === undefined) {
      siblings.add(acquire);
      if (token === 0 && options.abortInDeadlock) this.#store.aborting += 1;
    } else this.#restorePart(lead, acquire, token, grantedAt);
    if (token === 0) {
      lock.waiters.append(acquire);
      this.#store.waits += 1;
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
    this.#store.holds += 1;
  }

  /** Every lock is held, and by everybody who may. @throws SnapshotError */
  check(): void {
    const { nodes, locks, place, asked } = this.#store;
    let placed = 0;
    for (const lock of locks.values()) {
      if (place.has(lock.container)) placed += 1;
      const next = lock.waiters.first;
      const granted =
        lock.delay !== undefined ||
        (next === undefined ? lock.holders.size > 0 : waitsForSomebody(lock) && !next.grantable);
      wellFormed(granted, () => `has a lock ${lock.name} that is not granted to whom it is free for`);
      const queued = lock.holders.size + lock.waiters.size;
      wellFormed(
        queued === nodes.childCount(lock.container),
        () => `has nodes under lock ${lock.name} that are not in its queue`,
      );
    }
    wellFormed(placed === place.size, () => `has nodes at ${place.path} that are no locks`);
    for (const { lead, lock, token, releaseRequest } of asked) {
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
    this.#store.asked.add(acquire);
  }

  #extraOf(node: NodeSlot, wanted: number): Uint8Array | undefined {
    return this.#store.nodes.extras(node).find(({ tag }) => tag === wanted)?.bytes;
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
}
