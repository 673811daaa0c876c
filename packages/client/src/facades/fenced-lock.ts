/**
 * The shape of Hazelcast's FencedLock over an ensemble, for those who migrate: `lock`, `tryLock`, `unlock` and the fences. An owner is what
 * `fencedLock` returns, as a thread is there; who passes it on shares its hold. What Hazelcast throws as IllegalMonitorStateException and
 * LockOwnershipLostException are NotOwnerError and LockLostError.
 */

import type { Client, LockOptions } from '../client.ts';
import { AcquireLimitError, HoldfastError, LockLostError } from '../errors.ts';
import type { ReentrantHold } from '../locks/holds/reentrant-hold.ts';
import type { ReentrantLock } from '../locks/kinds/reentrant-lock.ts';
import type { AcquireOptions } from '../locks/lock.ts';
import { checkOptionNames } from '../option-names.ts';

/**
 * What `tryLockAndGetFence` gives when the lock was not acquired: below every fence.
 *
 * @example
 * const fence = await fencedLock(client, 'accounts/42').tryLockAndGetFence();
 * if (fence === INVALID_FENCE) show('somebody else has it');
 */
export const INVALID_FENCE = 0n;

/**
 * The lock is not this owner's, and it never was or was given back.
 *
 * @example
 * await fencedLock(client, 'accounts/42')
 *   .unlock()
 *   .catch((thrown: unknown) => {
 *     if (!(thrown instanceof NotOwnerError)) throw thrown;
 *   });
 */
export class NotOwnerError extends HoldfastError {
  constructor(lock: string) {
    super(`fenced lock "${lock}" is not held by this owner: lock it first, and unlock it as often as it was locked`, {
      code: 'NOT_HELD',
    });
    this.name = 'NotOwnerError';
  }
}

type WaitOptions = Pick<AcquireOptions, 'waitMs' | 'signal'>;

const OPTIONS: Record<keyof WaitOptions, true> = { waitMs: true, signal: true };

/**
 * A reentrant lock by the names of Hazelcast's FencedLock. Made by `fencedLock`; one object is one owner.
 *
 * @example
 * const owner = fencedLock(client, 'accounts/42');
 * const fence = await owner.lockAndGetFence();
 * await store.put('42', value, { token: Number(fence) });
 * await owner.unlock();
 */
export class FencedLock {
  readonly #lock: ReentrantLock;
  /** Its entries, the latest last. */
  #entries: ReentrantHold[] = [];

  /** @internal Use `fencedLock`. */
  constructor(lock: ReentrantLock) {
    this.#lock = lock;
  }

  getName(): string {
    return this.#lock.name;
  }

  /** Waits for the lock, or enters it again. Rejects with LockLostError once the hold was lost, and with AcquireLimitError beyond the limit. */
  async lock(options: Pick<WaitOptions, 'signal'> = {}): Promise<void> {
    checkOptionNames('lock', options, OPTIONS);
    await this.#enter({ ...options, waitMs: Number.POSITIVE_INFINITY });
  }

  /** The same, with the fence. */
  async lockAndGetFence(options: Pick<WaitOptions, 'signal'> = {}): Promise<bigint> {
    await this.lock(options);
    return this.#fence();
  }

  /** False when it was not acquired within `waitMs`, by default at once, or was entered up to its limit. */
  async tryLock(options: WaitOptions = {}): Promise<boolean> {
    checkOptionNames('tryLock', options, OPTIONS);
    this.#checkOwnership();
    try {
      const attempt = await this.#lock.tryAcquire({ waitMs: 0, ...options });
      if (!attempt.acquired) return false;
      this.#entries.push(attempt.held);
      return true;
    } catch (error) {
      if (error instanceof AcquireLimitError) return false;
      throw error;
    }
  }

  /** The fence, or {@link INVALID_FENCE} where `tryLock` would say false. */
  async tryLockAndGetFence(options: WaitOptions = {}): Promise<bigint> {
    return (await this.tryLock(options)) ? this.#fence() : INVALID_FENCE;
  }

  /**
   * Takes one entry back; the lock is free with the last. Rejects with NotOwnerError when it is not held by this owner, and with LockLostError
   * when it was lost, from when on it can be locked anew.
   */
  async unlock(): Promise<void> {
    this.#checkOwnership();
    const entry = this.#entries.pop();
    if (entry === undefined) throw new NotOwnerError(this.#lock.name);
    await entry.release();
  }

  /** Of the present hold. @throws NotOwnerError, LockLostError */
  getFence(): bigint {
    this.#checkOwnership();
    if (this.#entries.length === 0) throw new NotOwnerError(this.#lock.name);
    return this.#fence();
  }

  /** Whether anybody holds it, linearizably. */
  async isLocked(): Promise<boolean> {
    this.#checkOwnership();
    return (await this.#lock.count()).entries > 0;
  }

  /** Whether this owner does, linearizably. */
  async isLockedByCurrentOwner(): Promise<boolean> {
    this.#checkOwnership();
    return (await this.#lock.count()).mine;
  }

  /** How often whoever holds it has entered it, linearizably; 0 where nobody does. */
  async getLockCount(): Promise<number> {
    this.#checkOwnership();
    return (await this.#lock.count()).entries;
  }

  async #enter(options: WaitOptions): Promise<void> {
    this.#checkOwnership();
    this.#entries.push(await this.#lock.acquire(options));
  }

  #fence(): bigint {
    return BigInt(this.#entries.at(-1)?.token ?? 0);
  }

  /** An owner that lost its hold is told so once: then it has none. */
  #checkOwnership(): void {
    const lost = this.#entries.find((entry) => entry.loss !== undefined || entry.remainingMs() === 0);
    if (lost === undefined) return;
    this.#entries = [];
    throw lost.loss ?? new LockLostError(this.#lock.name, 'expired');
  }
}

/**
 * A lock by Hazelcast's names, over the reentrant lock of that name. Each call makes an owner of its own.
 *
 * @example
 * const lock = fencedLock(client, 'accounts/42');
 * const fence = await lock.lockAndGetFence();
 * try {
 *   await store.put('42', value, { token: Number(fence) });
 * } finally {
 *   await lock.unlock();
 * }
 */
export function fencedLock(client: Client, name: string, options: Pick<LockOptions, 'limit'> = {}): FencedLock {
  checkOptionNames('fencedLock', options, { limit: true });
  return new FencedLock(client.lock(name, { ...options, reentrant: true }));
}
