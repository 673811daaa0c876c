/**
 * A lock by name, or several at once, as applications use it. An owner is one acquire: two acquires of one client exclude each other, but where
 * the kind of the lock lets them in together.
 */

import { MAX_LOCKS_AT_ONCE, MUTEX, type Command } from '@holdfast/protocol';
import { checkLockName } from '../admin.ts';
import { InvalidArgumentError, SessionExpiredError } from '../errors.ts';
import { checkOptionNames } from '../option-names.ts';
import { encoded, type EncodedCommand } from '../session/channels/request-pipeline.ts';
import type { Present } from '../incarnations/incarnation.ts';
import type { AcquireFollower, AcquireOutcome, AcquireRequest } from './acquire-call.ts';
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
import { LOCK_OPTIONS, withOptions, type LockOptions } from './lock-options.ts';
import { watchLock, watchLocks, type LockEvent, type LockWatchOptions } from './lock-watch.ts';
import { commandFor, wantedOf, type Wanted } from './wanted.ts';

const WATCH_OPTIONS: Record<keyof LockWatchOptions, true> = { signal: true };

export class Lock {
  /** The lock's name; of several at once, the first one's. */
  readonly name: string;
  /** @internal */
  readonly wanted: Wanted;
  readonly #present: Present;
  /** The acquire that waits, and the one that leaves nothing when a lock is not free: each made once. */
  #waiting: EncodedCommand | undefined;
  #immediate: EncodedCommand | undefined;

  /** @internal */
  constructor(wanted: Wanted, present: Present) {
    this.name = wanted.lock;
    this.wanted = wanted;
    this.#present = present;
  }

  /** The names of all locks that it takes at once, in the order in which they were given: one, unless it is of `client.locks`. */
  get names(): readonly string[] {
    return this.wanted.locks;
  }

  /**
   * Acquires, runs `body`, releases. Rejects with LockLostError if the lock was lost before the body ended, even if the body did not
   * notice: what it did since may have been done beside another holder, and only the fenced resource knows. The body's own error
   * goes first, and carries the loss as its cause. Whatever the release brings masks neither; one that was not confirmed in time goes
   * on in the background and is an event of the client, `release-unconfirmed`.
   */
  async withLock<T>(body: (held: HeldLock) => T | PromiseLike<T>, options: AcquireOptions = {}): Promise<T> {
    return await runHolding(await this.acquire(options), body);
  }

  /**
   * Waits for the lock. Rejects with TimeoutError after `waitMs`, which says who holds the lock and how many are before, the signal's reason
   * when it aborts, LockLostError when an operator ended the wait, DeadlockError when the lock was made with `deadlockPolicy: 'abort-youngest'`
   * and the wait was in a deadlock, SessionExpiredError when the session ended, ClientClosedError when the
   * client was closed; with InvalidArgumentError when the lock is in use as another kind of lock, and with the code UNSUPPORTED while the ensemble
   * has servers that do not know its kind.
   */
  async acquire(options: AcquireOptions = {}): Promise<HeldLock> {
    checkAcquireOptions('acquire', options);
    const waitMs = options.waitMs ?? this.#present().defaultWaitMs;
    return heldOf(await this.#acquire(waitMs, options), this.wanted, waitMs, this.#present);
  }

  /**
   * Like `acquire`, but not getting the lock is a result. Rejects only when the ensemble could not be asked, or refused otherwise.
   */
  async tryAcquire(options: TryAcquireOptions = {}): Promise<TryAcquireResult> {
    checkAcquireOptions('tryAcquire', options);
    const waitMs = options.waitMs ?? 0;
    return resultOf(await this.#acquire(waitMs, options), this.wanted, waitMs, this.#present);
  }

  /**
   * Tells who holds the lock and who waits, and each grant, release and change of the queue from then on, until the loop is left. Of several
   * locks it tells that of each.
   *
   * @example
   * for await (const { type, holders, waiters, before } of lock.watch()) console.log(type, holders[0]?.label, waiters, before);
   */
  watch(options: LockWatchOptions = {}): AsyncGenerator<LockEvent, void, undefined> {
    checkOptionNames('watch', options, WATCH_OPTIONS);
    const { session } = this.#present();
    return this.names.length === 1 ? watchLock(session, this.name, options) : watchLocks(session, this.names, options);
  }

  /** @internal Publishes nothing. */
  ask(waitMs: number, { signal, onWait }: AcquireOptions, follower?: AcquireFollower): Promise<AcquireOutcome> {
    const wait = waitMs > 0;
    const expiresAtMs = this.#present().session.limitAtMs(wait ? waitMs : undefined);
    const request = { wanted: this.wanted, asked: this.#command(wait), expiresAtMs, signal, onWait, follower };
    return new Promise((resolve) => this.#ask(request, resolve));
  }

  #ask(request: AcquireRequest, settle: (outcome: AcquireOutcome) => void): void {
    const asked = this.#present();
    asked.acquires.acquire(request, (outcome) => {
      const expired = outcome.type === 'failed' && outcome.error instanceof SessionExpiredError;
      if (!expired) {
        settle(outcome);
        return;
      }
      // Nothing is left of what an expired session has asked for: where there is another, which is made in this turn, it asks anew.
      void Promise.resolve().then(() => {
        if (this.#present() === asked) settle(outcome);
        else this.#ask(request, settle);
      });
    });
  }

  #command(wait: boolean): EncodedCommand {
    if (wait) return (this.#waiting ??= lasting(commandFor(this.wanted, true)));
    return (this.#immediate ??= lasting(commandFor(this.wanted, false)));
  }

  #acquire(waitMs: number, options: AcquireOptions): Promise<AcquireOutcome> {
    const message = started(this.wanted, waitMs, this.#present);
    const asked = this.ask(waitMs, options);
    return message === undefined ? asked : ended(message, asked, this.#present);
  }
}

/** In memory of its own: it is kept for as long as the lock object is, and would keep all that was encoded beside it. */
function lasting(command: Command): EncodedCommand {
  const { command: number, payload } = encoded(command);
  return { command: number, payload: payload.slice() };
}

/**
 * What these take together, by name or as they would alone, with the longest of their delays, and ending in a deadlock where one of them does,
 * unless the options say otherwise.
 *
 * @throws InvalidArgumentError
 */
export function wantedTogether(locks: readonly (string | Lock)[], options: LockOptions): Wanted {
  checkOptionNames('locks', options, LOCK_OPTIONS);
  const given: unknown = locks;
  if (!Array.isArray(given)) throw new InvalidArgumentError('locks takes a list of names, or of locks of a client');
  const [first, ...others] = locks.flatMap((each) => (each instanceof Lock ? each.wanted.requests : [named(each)]));
  if (first === undefined) throw new InvalidArgumentError('locks was given an empty list; it takes at least one lock');
  const all = wantedOf(first, ...others);
  const { length } = all.locks;
  if (length > MAX_LOCKS_AT_ONCE)
    throw new InvalidArgumentError(`locks was given ${length} locks; it takes at most ${MAX_LOCKS_AT_ONCE} at once`);
  const twice = all.locks.find((lock, at) => all.locks.indexOf(lock) < at);
  if (twice !== undefined)
    throw new InvalidArgumentError(`locks was given lock ${JSON.stringify(twice)} twice; name each lock once`);
  const made = locks.flatMap((each) => (each instanceof Lock ? [each.wanted] : []));
  const lockDelayMs = Math.max(0, ...made.map((wanted) => wanted.lockDelayMs));
  const abortInDeadlock = made.some((wanted) => wanted.abortInDeadlock);
  return withOptions({ ...all, lockDelayMs, abortInDeadlock }, options);
}

function named(lock: string): Wanted['requests'][0] {
  const given: unknown = lock;
  if (typeof given !== 'string')
    throw new InvalidArgumentError(
      `locks takes names, and locks as lock, read, write and locks give them; a reentrant lock and ${typeof given} are none`,
    );
  checkLockName(lock);
  return { lock, asked: MUTEX };
}
