/**
 * A lock that its owner enters again while it holds it. The owner is this object: whoever calls it, from wherever, is let in. Re-entry is counted
 * here and costs no message; what the ensemble sees is one hold.
 */

import { AcquireLimitError, InvalidArgumentError, LockLostError, type LockLossReason } from '../errors.ts';
import { invariant } from '../invariant.ts';
import type { Present } from '../incarnations/incarnation.ts';
import { checkOptionNames } from '../option-names.ts';
import type { AcquireOutcome } from './acquire-call.ts';
import {
  checkAcquireOptions,
  ended,
  heldOf,
  resultOf,
  runHolding,
  started,
  type AcquireOptions,
  type TryAcquireOptions,
  type TryAcquireResult,
} from './acquiring.ts';
import type { HeldLock } from './held-lock.ts';
import { LOCK_OPTIONS, type LockOptions } from './lock-options.ts';
import type { LockEvent, LockWatchOptions } from './lock-watch.ts';
import type { Lock } from './lock.ts';
import { locksText } from './waits/lock-wait.ts';
import { ReentrantHold } from './reentrant/reentrant-hold.ts';
import { SharedWait } from './reentrant/shared-wait.ts';

/**
 * What makes a lock a reentrant one.
 *
 * @example
 * const lock = client.lock('accounts', { reentrant: true, limit: 10 });
 */
export interface ReentrantLockOptions extends LockOptions {
  /** The lock object is the owner, and enters the lock again while it holds it. */
  readonly reentrant: true;
  /** How many entries it may have at once, those who wait counted: a whole number from 1, where 1 is no re-entry. @default no limit */
  readonly limit?: number;
}

const OPTIONS: Record<keyof ReentrantLockOptions, true> = { reentrant: true, limit: true, ...LOCK_OPTIONS };

/** As a caller without types may give them. */
export type AnyLockOptions = LockOptions & { readonly reentrant?: boolean; readonly limit?: number };

/** Whether the options of a lock say so. @throws InvalidArgumentError */
export function isReentrant(options: AnyLockOptions): options is AnyLockOptions & ReentrantLockOptions {
  checkOptionNames('lock', options, OPTIONS);
  const { reentrant = false, limit } = options;
  if (typeof reentrant !== 'boolean')
    throw new InvalidArgumentError(`reentrant is ${JSON.stringify(reentrant)}; it must be true or false`);
  if (!reentrant && limit !== undefined)
    throw new InvalidArgumentError('limit is how often a reentrant lock can be entered; say reentrant: true as well');
  return reentrant;
}

/**
 * As for a lock; `limit`: there are as many entries as there may be.
 *
 * @example
 * const attempt = await lock.tryAcquire();
 * if (!attempt.acquired && attempt.reason === 'limit') throw new Error('it calls itself without end');
 */
export type ReentrantTryAcquireResult =
  | TryAcquireResult
  | { readonly acquired: false; readonly reason: 'limit'; readonly holder: undefined };

/**
 * The first acquire asks the ensemble; those that come while it waits wait with it, and those that come while the lock is held enter at once. Each
 * is given a hold of its own, with the same token, and the lock is given back when the last of them has been released.
 *
 * When the lock is lost every entry is. Until each of them has been released, `acquire` rejects with LockLostError, so that nobody goes on
 * under a new grant with what was begun under the old one. Releasing a lost entry rejects with LockLostError, and counts.
 *
 * @example
 * const accounts = client.lock('accounts', { reentrant: true });
 * await accounts.withLock(async () => {
 *   await accounts.withLock((held) => store.put('42', value, { token: held.token })); // does not wait for itself
 * });
 */
export class ReentrantLock {
  readonly name: string;
  /** How many entries it may have at once; `Infinity` for no limit. */
  readonly limit: number;
  readonly #lock: Lock;
  readonly #present: Present;
  /** Until its last entry has been released, also where it is lost. */
  #hold: ReentrantHold | undefined;
  #wait: SharedWait | undefined;
  /** Asks under way that do not wait. */
  #tries = 0;

  /** @internal Use `client.lock(name, { reentrant: true })`. */
  constructor(lock: Lock, { limit = Number.POSITIVE_INFINITY }: ReentrantLockOptions, present: Present) {
    if (limit !== Number.POSITIVE_INFINITY && !(Number.isSafeInteger(limit) && limit >= 1))
      throw new InvalidArgumentError(`limit is ${String(limit)}; it must be a whole number from 1, or left out`);
    this.name = lock.name;
    this.limit = limit;
    this.#lock = lock;
    this.#present = present;
  }

  /** How many entries it has; 0 when it does not hold the lock. */
  get holdCount(): number {
    return this.#hold === undefined || this.#hold.lossReason !== undefined ? 0 : this.#hold.entries;
  }

  /** Acquires, runs `body`, releases, as `withLock` of a lock does; within another body of this object it enters at once. */
  async withLock<T>(body: (held: HeldLock) => T | PromiseLike<T>, options: AcquireOptions = {}): Promise<T> {
    return await runHolding(await this.acquire(options), body);
  }

  /**
   * Enters the lock, at once where this object holds it. Rejects as `acquire` of a lock does, with AcquireLimitError when it has as many
   * entries as it may have, and with LockLostError as long as entries of a hold that was lost have not been released.
   */
  async acquire(options: AcquireOptions = {}): Promise<HeldLock> {
    checkAcquireOptions('acquire', options);
    this.#assertReleased();
    if (this.#full) {
      const text = `${locksText([this.name])} has been entered ${this.limit} times by its owner, those who wait counted`;
      throw new AcquireLimitError(`${text}; that is its limit, so release it first`);
    }
    const { wanted } = this.#lock;
    const waitMs = options.waitMs ?? this.#present().defaultWaitMs;
    return heldOf(await this.#acquire(waitMs, options), wanted, waitMs, this.#present);
  }

  /** Like `acquire`, but not getting the lock is a result; its reason is `limit` when there are as many entries as there may be. */
  async tryAcquire(options: TryAcquireOptions = {}): Promise<ReentrantTryAcquireResult> {
    checkAcquireOptions('tryAcquire', options);
    this.#assertReleased();
    if (this.#full) return { acquired: false, reason: 'limit', holder: undefined };
    const { wanted } = this.#lock;
    const waitMs = options.waitMs ?? 0;
    return resultOf(await this.#acquire(waitMs, options), wanted, waitMs, this.#present);
  }

  /** Tells who holds the lock and who waits, and each change from then on, as `watch` of a lock does. Entries are one hold there. */
  watch(options: LockWatchOptions = {}): AsyncGenerator<LockEvent, void, undefined> {
    return this.#lock.watch(options);
  }

  get #full(): boolean {
    return (this.#hold?.entries ?? 0) + (this.#wait?.callers ?? 0) + this.#tries >= this.limit;
  }

  /** @throws LockLostError */
  #assertReleased(): void {
    if (this.#hold?.lossReason !== undefined) throw this.#lost(this.#hold.lossReason, this.#hold.entries);
  }

  #lost(reason: LockLossReason, entries: number): LockLostError {
    const advice = `release the ${entries === 1 ? 'entry' : `${entries} entries`} of that hold, and acquire it anew`;
    return new LockLostError(this.name, reason, { advice });
  }

  #acquire(waitMs: number, options: AcquireOptions): AcquireOutcome | Promise<AcquireOutcome> {
    const message = started(this.#lock.wanted, waitMs, this.#present);
    const entered = this.#enter(waitMs, options);
    return message === undefined ? entered : ended(message, entered, this.#present);
  }

  #enter(waitMs: number, { signal, onWait }: AcquireOptions): AcquireOutcome | Promise<AcquireOutcome> {
    if (signal?.aborted === true) return { type: 'aborted', reason: signal.reason };
    if (this.#hold !== undefined) return this.#enterHold(this.#hold);
    if (waitMs === 0) return this.#try(signal);
    const { session } = this.#present();
    this.#wait ??= this.#beginWait();
    return this.#wait.join({ expiresAtMs: session.limitAtMs(waitMs), signal, onWait }, session.limits);
  }

  #enterHold(hold: ReentrantHold): AcquireOutcome {
    const { lossReason } = hold;
    if (lossReason !== undefined) return { type: 'failed', error: this.#lost(lossReason, hold.entries) };
    return { type: 'held', held: hold.enter() };
  }

  #beginWait(): SharedWait {
    const wait: SharedWait = new SharedWait(() => {
      if (this.#wait === wait) this.#wait = undefined;
    });
    void this.#lock.ask(Number.POSITIVE_INFINITY, {}, wait).then((outcome) => this.#waited(wait, outcome));
    return wait;
  }

  #waited(wait: SharedWait, outcome: AcquireOutcome): void {
    wait.answered();
    if (outcome.type !== 'held') wait.settle(() => outcome);
    else if (wait.callers > 0) this.#granted(outcome.held, wait);
    // They have all given up, or have entered by another grant.
    else void outcome.held[Symbol.asyncDispose]();
  }

  /** Without a wait: the ensemble says at once whether it is free. */
  async #try(signal: AbortSignal | undefined): Promise<AcquireOutcome> {
    this.#tries += 1;
    const outcome = await this.#lock.ask(0, signal === undefined ? {} : { signal });
    this.#tries -= 1;
    if (outcome.type !== 'held' && outcome.type !== 'lockHeld') return outcome;
    const hold = this.#hold;
    if (outcome.type === 'held') {
      if (hold === undefined) return { type: 'held', held: this.#granted(outcome.held, this.#wait).enter() };
      void outcome.held[Symbol.asyncDispose]();
    }
    // The lock was granted to another caller of this object meanwhile.
    return hold === undefined ? outcome : this.#enterHold(hold);
  }

  /** Lets in everybody who waits. */
  #granted(held: HeldLock, wait: SharedWait | undefined): ReentrantHold {
    invariant(this.#hold === undefined, 'a-reentrant-lock-has-one-hold');
    const hold: ReentrantHold = new ReentrantHold(this.#lock.wanted, held, () => {
      if (this.#hold === hold) this.#hold = undefined;
    });
    this.#hold = hold;
    wait?.settle(() => ({ type: 'held', held: hold.enter() }));
    return hold;
  }
}
