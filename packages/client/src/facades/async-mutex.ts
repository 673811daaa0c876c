/**
 * The shape of async-mutex's Mutex over a lock of the ensemble, for those who migrate. What it cannot know at once, such as whether another
 * process holds the lock, it says of this object alone. Hand `runExclusive`'s token to what the mutex protects.
 */

import type { Client } from '../client.ts';
import { TimeoutError } from '../errors.ts';
import type { HeldLock } from '../locks/held-lock.ts';

/**
 * Thrown by waits that `cancel` has ended. One object, as users compare it.
 *
 * @example
 * try {
 *   await asyncMutex(client, 'jobs').acquire();
 * } catch (error) {
 *   if (error !== E_CANCELED) throw error; // mutex.cancel() was called
 * }
 */
export const E_CANCELED: Error = new Error('request for lock canceled');
/**
 * What a mutex of `withTimeout` rejects with when its limit has passed, as in async-mutex.
 *
 * @example
 * try {
 *   await withTimeout(asyncMutex(client, 'jobs'), 1_000).acquire();
 * } catch (error) {
 *   if (error !== E_TIMEOUT) throw error;
 * }
 */
export const E_TIMEOUT: Error = new Error('timeout while waiting for mutex to become available');
/**
 * What `tryAcquire` rejects with when the mutex is held, as in async-mutex.
 *
 * @example
 * try {
 *   await tryAcquire(asyncMutex(client, 'jobs')).acquire();
 * } catch (error) {
 *   if (error !== E_ALREADY_LOCKED) throw error;
 * }
 */
export const E_ALREADY_LOCKED: Error = new Error('mutex already locked');

/**
 * Gives the lock back; a second call does nothing.
 *
 * @example
 * const release: Releaser = await asyncMutex(client, 'jobs').acquire();
 * release();
 */
export type Releaser = () => void;

interface Limit {
  readonly waitMs?: number;
  /** Thrown instead of a TimeoutError. */
  readonly late?: Error;
}

/**
 * What `withTimeout` and `tryAcquire` give.
 *
 * @example
 * const bounded: BoundedMutex = withTimeout(asyncMutex(client, 'jobs'), 1_000);
 * await bounded.runExclusive(() => work());
 */
export type BoundedMutex = Pick<EnsembleMutex, 'acquire' | 'runExclusive'>;

/**
 * A mutex with the shape of async-mutex's, over a lock of the ensemble. Made by `asyncMutex`.
 *
 * @example
 * const release = await asyncMutex(client, 'jobs').acquire();
 * release();
 */
export class EnsembleMutex {
  readonly name: string;
  readonly #client: Client;
  readonly #held = new Set<HeldLock>();
  #canceled = new AbortController();

  /** @internal Use `asyncMutex`. */
  constructor(client: Client, name: string) {
    client.lock(name);
    this.#client = client;
    this.name = name;
  }

  /** Rejects with E_CANCELED after `cancel`, and with what a lock's `acquire` rejects with. */
  acquire(): Promise<Releaser> {
    return this.acquireWithin({});
  }

  /** Rejects with LockLostError, too, when the lock was lost while the callback ran. */
  runExclusive<T>(callback: (held: HeldLock) => T | PromiseLike<T>): Promise<T> {
    return this.runWithin({}, callback);
  }

  /** Whether this object holds the lock; of other processes it says nothing. */
  isLocked(): boolean {
    for (const held of this.#held) if (held.remainingMs() > 0) return true;
    return false;
  }

  /** Until nobody in the ensemble holds the lock; it may be held again by then. */
  async waitForUnlock(): Promise<void> {
    for await (const { holders } of this.#client.lock(this.name).watch()) if (holders.length === 0) return;
  }

  /** Gives back what this object holds. */
  release(): void {
    for (const held of this.#held) this.#giveBack(held);
  }

  /** Ends every wait of this object with E_CANCELED. */
  cancel(): void {
    const canceled = this.#canceled;
    this.#canceled = new AbortController();
    canceled.abort(E_CANCELED);
  }

  /** @internal */
  async acquireWithin(limit: Limit): Promise<Releaser> {
    const held = await this.#acquire(limit);
    return () => this.#giveBack(held);
  }

  /** @internal */
  async runWithin<T>(limit: Limit, callback: (held: HeldLock) => T | PromiseLike<T>): Promise<T> {
    const held = await this.#acquire(limit);
    try {
      const result = await callback(held);
      held.assertHeld();
      return result;
    } finally {
      this.#giveBack(held);
    }
  }

  async #acquire({ waitMs, late }: Limit): Promise<HeldLock> {
    const { signal } = this.#canceled;
    const lock = this.#client.lock(this.name);
    try {
      const held = await lock.acquire({ signal, ...(waitMs !== undefined && { waitMs }) });
      this.#held.add(held);
      return held;
    } catch (error) {
      throw late !== undefined && error instanceof TimeoutError ? late : error;
    }
  }

  /** A release that is not confirmed goes on in the background, and is an event of the client. */
  #giveBack(held: HeldLock): void {
    if (this.#held.delete(held)) void held[Symbol.asyncDispose]();
  }
}

/**
 * The lock of that name with the shape of async-mutex's Mutex.
 *
 * @example
 * await asyncMutex(client, 'accounts/42').runExclusive(async ({ token }) => await store.put('42', value, { token }));
 * @throws InvalidArgumentError for a name that no lock can have
 */
export function asyncMutex(client: Client, name: string): EnsembleMutex {
  return new EnsembleMutex(client, name);
}

/**
 * Waits so long at most.
 *
 * @example
 * await withTimeout(asyncMutex(client, 'jobs'), 1_000).runExclusive(() => work());
 */
export function withTimeout(mutex: EnsembleMutex, waitMs: number, error: Error = E_TIMEOUT): BoundedMutex {
  return bounded(mutex, { waitMs, late: error });
}

/**
 * Does not wait.
 *
 * @example
 * const release = await tryAcquire(asyncMutex(client, 'jobs')).acquire(); // rejects with E_ALREADY_LOCKED
 */
export function tryAcquire(mutex: EnsembleMutex, error: Error = E_ALREADY_LOCKED): BoundedMutex {
  return bounded(mutex, { waitMs: 0, late: error });
}

function bounded(mutex: EnsembleMutex, limit: Limit): BoundedMutex {
  return {
    acquire: () => mutex.acquireWithin(limit),
    runExclusive: (callback) => mutex.runWithin(limit, callback),
  };
}
