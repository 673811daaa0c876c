/** A lock by name, as applications use it. An owner is one acquire: two acquires of one client exclude each other. */

import type { Holder, LockRequest } from '@holdfast/protocol';
import { acquireEnded, acquireStarted, holdStarted, type AcquireMessage } from '../diagnostics/channels.ts';
import { InvalidArgumentError, LockLostError, SessionExpiredError, TimeoutError } from '../errors.ts';
import { checkOptionNames } from '../option-names.ts';
import { checkDuration } from '../options.ts';
import type { Present } from '../incarnations/incarnation.ts';
import type { AcquireOutcome } from './acquire-call.ts';
import type { HeldLock } from './held-lock.ts';
import { describeWait, type LockWait } from './lock-wait.ts';
import { watchLock, type LockEvent, type LockWatchOptions } from './lock-watch.ts';

export interface AcquireOptions {
  /**
   * How long to wait for the lock. When that is over the wait is cancelled in the background, and the lock given back if it was
   * granted at the last moment. 0 never enqueues; `Infinity` is no limit. @default the client's `defaultWaitMs`, which is no limit
   */
  readonly waitMs?: number;
  /** Gives up, with the signal's reason; what becomes of the wait is as for `waitMs`. */
  readonly signal?: AbortSignal;
  /**
   * Is told who holds the lock and how many are before, once the acquire waits, and about once a second from then on. All waits of a client
   * for one lock ask the ensemble together. Never called for a lock that is granted at once. What it throws is logged.
   *
   * @example
   * await lock.acquire({ onWait: ({ before }) => show(`${before} are before you`) });
   */
  readonly onWait?: (wait: LockWait) => void;
}

export interface TryAcquireOptions extends AcquireOptions {
  /** @default 0 */
  readonly waitMs?: number;
}

const WATCH_OPTIONS: Record<keyof LockWatchOptions, true> = { signal: true };
const ACQUIRE_OPTIONS: Record<keyof AcquireOptions, true> = { waitMs: true, signal: true, onWait: true };

export type TryAcquireResult =
  | { readonly acquired: true; readonly held: HeldLock }
  /** `holder`: who had it when the ensemble refused, or was asked last; undefined for `cancelled`, and where it did not say it in time. */
  | {
      readonly acquired: false;
      readonly reason: 'held' | 'timeout' | 'cancelled';
      readonly holder: Holder | undefined;
    };

export class Lock {
  readonly name: string;
  readonly #asked: LockRequest;
  readonly #present: Present;

  /** @internal */
  constructor(name: string, asked: LockRequest, present: Present) {
    this.name = name;
    this.#asked = asked;
    this.#present = present;
  }

  /**
   * Acquires, runs `body`, releases. Rejects with LockLostError if the lock was lost before the body ended, even if the body did not
   * notice: what it did since may have been done beside another holder, and only the fenced resource knows. The body's own error
   * goes first, and carries the loss as its cause. Whatever the release brings masks neither; one that was not confirmed in time goes
   * on in the background and is an event of the client, `release-unconfirmed`.
   */
  async withLock<T>(body: (held: HeldLock) => T | PromiseLike<T>, options: AcquireOptions = {}): Promise<T> {
    const held = await this.acquire(options);
    let result: T;
    try {
      result = await body(held);
    } catch (error) {
      const loss = lossOf(held);
      if (loss !== undefined) attachCause(error, loss);
      await held[Symbol.asyncDispose]();
      throw error;
    }
    // What the body has released itself is not lost.
    if (lossOf(held)?.reason === 'released') return result;
    try {
      await held.release();
    } catch (error) {
      // Any other: the release goes on in the background, and the event `release-unconfirmed` has reported it.
      if (error instanceof LockLostError) throw error;
    }
    return result;
  }

  /**
   * Waits for the lock. Rejects with TimeoutError after `waitMs`, which says who holds the lock and how many are before, the signal's reason
   * when it aborts, LockLostError when an operator ended the wait, SessionExpiredError when the session ended, ClientClosedError when the
   * client was closed.
   */
  async acquire(options: AcquireOptions = {}): Promise<HeldLock> {
    checkOptionNames('acquire', options, ACQUIRE_OPTIONS);
    const waitMs = options.waitMs ?? this.#present().defaultWaitMs;
    const outcome = await this.#acquire(waitMs, options);
    switch (outcome.type) {
      case 'held':
        return outcome.held;
      case 'timeout':
        throw new TimeoutError(this.#timeoutText(waitMs, outcome.wait), { indeterminate: false, wait: outcome.wait });
      case 'lockHeld': {
        const { session, label } = outcome.holder;
        const who = label === '' ? `session ${session}` : `session ${session} ${JSON.stringify(label)}`;
        throw new TimeoutError(`lock "${this.name}" is held by ${who}, and waitMs is 0`, { indeterminate: false });
      }
      case 'aborted':
        throw outcome.reason;
      case 'failed':
        throw outcome.error;
    }
  }

  /**
   * Like `acquire`, but not getting the lock is a result. Rejects only when the ensemble could not be asked, or refused otherwise.
   */
  async tryAcquire(options: TryAcquireOptions = {}): Promise<TryAcquireResult> {
    checkOptionNames('tryAcquire', options, ACQUIRE_OPTIONS);
    const waitMs = options.waitMs ?? 0;
    const outcome = await this.#acquire(waitMs, options);
    switch (outcome.type) {
      case 'held':
        return { acquired: true, held: outcome.held };
      case 'lockHeld':
        return { acquired: false, reason: 'held', holder: outcome.holder };
      case 'timeout':
        if (waitMs === 0) throw new TimeoutError(this.#timeoutText(0), { indeterminate: false });
        return { acquired: false, reason: 'timeout', holder: outcome.wait?.holders[0] };
      case 'aborted':
        return { acquired: false, reason: 'cancelled', holder: undefined };
      case 'failed':
        throw outcome.error;
    }
  }

  /**
   * Tells who holds the lock and who waits, and each grant, release and change of the queue from then on, until the loop is left.
   *
   * @example
   * for await (const { type, holders, waiters, before } of lock.watch()) console.log(type, holders[0]?.label, waiters, before);
   */
  watch(options: LockWatchOptions = {}): AsyncGenerator<LockEvent, void, undefined> {
    checkOptionNames('watch', options, WATCH_OPTIONS);
    return watchLock(this.#present().session, this.name, options);
  }

  async #acquire(waitMs: number, options: AcquireOptions): Promise<AcquireOutcome> {
    checkDuration('waitMs', waitMs);
    if (options.onWait !== undefined && typeof options.onWait !== 'function')
      throw new InvalidArgumentError('onWait must be a function, which is called with what the acquire waits for');
    const diagnosed = acquireStarted(this.name, waitMs, this.#present().session.id);
    const outcome = await this.#ask(waitMs, options);
    if (diagnosed !== undefined) this.#diagnose(diagnosed, outcome);
    return outcome;
  }

  async #ask(waitMs: number, { signal, onWait }: AcquireOptions): Promise<AcquireOutcome> {
    const wait = waitMs > 0;
    const expiresAtMs = this.#present().session.limitAtMs(wait ? waitMs : undefined);
    for (;;) {
      const asked = this.#present();
      const outcome = await asked.acquires.acquire({
        lock: this.name,
        asked: this.#asked,
        wait,
        expiresAtMs,
        signal,
        onWait,
      });
      const expired = outcome.type === 'failed' && outcome.error instanceof SessionExpiredError;
      // Nothing is left of what an expired session has asked for: where there is another, it asks anew.
      if (!expired || this.#present() === asked) return outcome;
    }
  }

  #diagnose(message: AcquireMessage, outcome: AcquireOutcome): void {
    switch (outcome.type) {
      case 'held': {
        const { token } = outcome.held;
        acquireEnded(message, 'held', token, undefined);
        outcome.held.diagnose(holdStarted(message, token, this.#present().session.id));
        return;
      }
      case 'failed':
        acquireEnded(message, 'failed', undefined, outcome.error);
        return;
      case 'aborted':
        acquireEnded(message, 'aborted', undefined, outcome.reason);
        return;
      case 'lockHeld':
      case 'timeout':
        acquireEnded(message, outcome.type, undefined, undefined);
    }
  }

  #timeoutText(waitMs: number, wait?: LockWait): string {
    const limit = waitMs === 0 ? 'no answer in time' : `not granted within ${waitMs} ms`;
    const text = `lock "${this.name}": ${limit} (${this.#present().session.describe()})`;
    return wait === undefined ? text : `${text}; ${describeWait(wait)}`;
  }
}

/** Looks at the lease first: the timer that watches it may be late. */
function lossOf(held: HeldLock): LockLostError | undefined {
  try {
    held.assertHeld();
    return undefined;
  } catch {
    return held.loss;
  }
}

/** Only where there is room for one; the loss itself needs none. */
function attachCause(error: unknown, loss: LockLostError): void {
  if (!(error instanceof Error) || error === loss || error.cause !== undefined || !Object.isExtensible(error)) return;
  if (loss.reason === 'released') return;
  Object.defineProperty(error, 'cause', { value: loss, configurable: true, writable: true, enumerable: false });
}
