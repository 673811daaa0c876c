/**
 * Which locks are delayed, and how many may become so: each place of a wait or hold that asks for a delay is one that may. Both together are
 * bounded where such an acquire comes, since nothing can be refused when a hold is lost.
 */

import { invariant } from '../invariant.ts';
import type { NodeStore } from '../tree/node-store.ts';
import { ExtraTag } from '../tree/extra-tag.ts';
import { compareText } from '../text.ts';
import { packDelay, prolonged, type LockDelay } from './lock-delay.ts';
import type { Lock, QueuedAcquire } from './lock.ts';

export class DelayedLocks {
  readonly #nodes: NodeStore;
  /** In no particular order. */
  readonly #locks = new Set<Lock>();
  /** Places of waits and holds that ask for a delay. */
  #places = 0;

  constructor(nodes: NodeStore) {
    this.#nodes = nodes;
  }

  get size(): number {
    return this.#locks.size;
  }

  /** So many there are at most, whatever is lost. */
  get claims(): number {
    return this.#locks.size + this.#places;
  }

  /** In order of their names. */
  inOrder(): readonly Lock[] {
    return [...this.#locks].sort((left, right) => compareText(left.name, right.name));
  }

  /** A place in a queue has come, of an acquire with these options. */
  joined({ options }: QueuedAcquire): void {
    if (options.lockDelayMs > 0) this.#places += 1;
  }

  left({ options }: QueuedAcquire): void {
    if (options.lockDelayMs > 0) this.#places -= 1;
  }

  /** Nobody is granted the lock until {@link end}. */
  begin(lock: Lock, lost: LockDelay): void {
    const delay = prolonged(lock.delay, lost);
    this.#nodes.setExtra(lock.container, ExtraTag.lockDelay, packDelay(delay));
    lock.delay = delay;
    lock.delayIsNew = true;
    this.#locks.add(lock);
  }

  end(lock: Lock): void {
    invariant(lock.delay !== undefined, 'a delay ends that there is');
    this.#nodes.setExtra(lock.container, ExtraTag.lockDelay, undefined);
    lock.delay = undefined;
    this.#locks.delete(lock);
  }

  /** The lock is as a snapshot has it. */
  restore(lock: Lock, delay: LockDelay): void {
    lock.delay = delay;
    this.#locks.add(lock);
  }
}
