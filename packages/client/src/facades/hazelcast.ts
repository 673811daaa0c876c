/**
 * The shape of Hazelcast's FencedLock over an ensemble, for those who migrate. A thread there is an object here: what `fencedLock` returns is the
 * owner, and enters the lock again while it holds it. Its errors are ours: LockLostError for LockOwnershipLostException, AcquireLimitError for
 * LockAcquireLimitReachedException, and the code NOT_HELD for IllegalMonitorStateException.
 */

import type { Client } from '../client.ts';
import { HoldfastError, InvalidArgumentError } from '../errors.ts';
import type { HeldLock } from '../locks/held-lock.ts';
import type { ReentrantLock } from '../locks/reentrant-lock.ts';
import { checkOptionNames } from '../option-names.ts';

/**
 * What `tryLockAndGetFence` gives instead of a fence; every fence is greater.
 *
 * @example
 * const fence = await lock.tryLockAndGetFence(5_000);
 * if (fence !== INVALID_FENCE) await store.put('42', value, { token: fence });
 */
export const INVALID_FENCE = 0;

/**
 * What `fencedLock` takes.
 *
 * @example
 * const lock = fencedLock(client, 'accounts/42', { limit: 10 });
 */
export interface FencedLockOptions {
  /** How often the lock can be locked without an unlock, as Hazelcast's `lock-acquire-limit`; 0 is no limit, 1 no re-entry. @default 0 */
  readonly limit?: number;
}

/**
 * What calls take that wait.
 *
 * @example
 * await lock.lock({ signal: shutdown });
 */
export interface FencedLockCallOptions {
  /** Gives up waiting, with the signal's reason: then the lock is not held, for certain. */
  readonly signal?: AbortSignal;
}

const OPTIONS: Record<keyof FencedLockOptions, true> = { limit: true };
const CALL_OPTIONS: Record<keyof FencedLockCallOptions, true> = { signal: true };

/**
 * A lock that is locked and unlocked as often; the fence stays the same until the last unlock. Made by {@link fencedLock}.
 *
 * @example
 * if (await lock.tryLock(5_000)) {
 *   try {
 *     await store.put('42', value, { token: await lock.getFence() });
 *   } finally {
 *     await lock.unlock();
 *   }
 * }
 */
export class FencedLock {
  readonly name: string;
  readonly #client: Client;
  readonly #lock: ReentrantLock;
  /** The last one is the next to be unlocked. */
  readonly #entries: HeldLock[] = [];

  /** @internal Use `fencedLock`. */
  constructor(client: Client, name: string, options: FencedLockOptions) {
    checkOptionNames('fencedLock', options, OPTIONS);
    const { limit = 0 } = options;
    if (limit !== 0 && !(Number.isSafeInteger(limit) && limit >= 1))
      throw new InvalidArgumentError(`limit is ${String(limit)}; it must be a whole number, 0 for no limit`);
    this.name = name;
    this.#client = client;
    this.#lock = client.lock(name, { reentrant: true, ...(limit > 0 && { limit }) });
  }

  /**
   * Waits for the lock, without a limit. Rejects with AcquireLimitError beyond the limit, and with LockLostError until a lock that was lost has been
   * unlocked as often as it was locked.
   */
  async lock(options: FencedLockCallOptions = {}): Promise<void> {
    await this.lockAndGetFence(options);
  }

  /** The same, and gives the fence. */
  async lockAndGetFence(options: FencedLockCallOptions = {}): Promise<number> {
    checkOptionNames('lock', options, CALL_OPTIONS);
    const held = await this.#lock.acquire({ ...options, waitMs: Number.POSITIVE_INFINITY });
    this.#entries.push(held);
    return held.token;
  }

  /** Waits so many milliseconds at most, by default none. False when it was not to be had in that time, or was locked as often as its limit says. */
  async tryLock(waitMs = 0): Promise<boolean> {
    return (await this.tryLockAndGetFence(waitMs)) !== INVALID_FENCE;
  }

  /** The same, and gives the fence, or INVALID_FENCE. */
  async tryLockAndGetFence(waitMs = 0): Promise<number> {
    const attempt = await this.#lock.tryAcquire({ waitMs: Math.max(0, waitMs) });
    if (!attempt.acquired) return INVALID_FENCE;
    this.#entries.push(attempt.held);
    return attempt.held.token;
  }

  /**
   * Takes back one `lock`; the last one gives the lock to the next. Rejects with the code NOT_HELD when this object has not locked it, with
   * LockLostError when it was lost before, and with TimeoutError when that is not confirmed in time: it goes on in the background.
   */
  async unlock(): Promise<void> {
    const held = this.#entries.pop();
    if (held === undefined) throw this.#notHeld('unlock');
    await held.release();
  }

  /** The fence, after the ensemble has said that the lock is held. Rejects with the code NOT_HELD, or with LockLostError. */
  async getFence(): Promise<number> {
    const held = this.#entries.at(-1);
    if (held === undefined) throw this.#notHeld('getFence');
    await held.verify();
    return held.token;
  }

  /** How often this object has locked it; 1 where somebody else holds it, whose entries are not known here, and 0 where nobody does. */
  async getLockCount(): Promise<number> {
    if (await this.isLockedByCurrentOwner()) return this.#lock.holdCount;
    return (await this.isLocked()) ? 1 : 0;
  }

  /** Whether anybody holds it, by the ensemble. Rejects with LockLostError when this object has held it and lost it. */
  async isLocked(): Promise<boolean> {
    if (await this.isLockedByCurrentOwner()) return true;
    const { holders } = await this.#client.admin.lock(this.name);
    return holders.length > 0;
  }

  /** Whether this object holds it, by the ensemble. Rejects with LockLostError when it has held it and lost it. */
  async isLockedByCurrentOwner(): Promise<boolean> {
    const held = this.#entries.at(-1);
    if (held === undefined) return false;
    await held.verify();
    return true;
  }

  #notHeld(call: string): HoldfastError {
    const text = `${call}: lock ${JSON.stringify(this.name)} is not held by this owner; lock it first`;
    return new HoldfastError(text, { code: 'NOT_HELD' });
  }
}

/**
 * The same name always is the same lock; each object that this returns is an owner of its own.
 *
 * @example
 * const lock = fencedLock(client, 'accounts/42');
 * const fence = await lock.lockAndGetFence();
 * try {
 *   await store.put('42', value, { token: fence });
 * } finally {
 *   await lock.unlock();
 * }
 * @throws InvalidArgumentError for a name that no lock can have
 */
export function fencedLock(client: Client, name: string, options: FencedLockOptions = {}): FencedLock {
  return new FencedLock(client, name, options);
}
