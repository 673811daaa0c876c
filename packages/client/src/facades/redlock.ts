/**
 * The shape of redlock over an ensemble, for those who migrate: `acquire`, `using`, `extend`, `release`. The clients that were Redis servers are
 * one client. A lock lasts as long as its duration says and the session lives, without a drift to be guessed; it has a token, the same for all
 * its resources, by which they can refuse who comes late.
 */

import type { Timer } from '@holdfast/runtime';
import type { Client } from '../client.ts';
import { InvalidArgumentError, LockLostError, TimeoutError } from '../errors.ts';
import type { HeldLock } from '../locks/held-lock.ts';
import { checkOptionNames } from '../option-names.ts';

export interface RedlockSettings {
  /** How often redlock would try again; here the factor of the longest wait. -1: no limit. @default 10 */
  readonly retryCount?: number;
  /** Milliseconds between two such attempts. A waiter is granted at once when the lock is free. @default 200 */
  readonly retryDelay?: number;
  /** `using` extends the lock so long before it ends. @default 500 */
  readonly automaticExtensionThreshold?: number;
}

const SETTINGS: Record<keyof RedlockSettings, true> = {
  retryCount: true,
  retryDelay: true,
  automaticExtensionThreshold: true,
};
const LONGEST_DURATION_MS = 2 ** 31 - 1;

/** The locks of several resources under one handle. */
export class RedlockLock {
  /** As they were given. */
  readonly resources: readonly string[];
  /** The log index of the grant, for all of them: greater than that of every earlier holder of any of them. */
  readonly token: number;
  readonly #held: HeldLock;
  readonly #client: Client;
  readonly #aborter = new AbortController();
  #timer: Timer | undefined;
  #endsAtMs = 0;
  #loss: LockLostError | undefined;

  /** @internal */
  constructor(client: Client, resources: readonly string[], held: HeldLock, duration: number) {
    this.#client = client;
    this.resources = resources;
    this.#held = held;
    this.token = held.token;
    held.signal.addEventListener('abort', () => this.#end(held.loss), { once: true });
    this.#last(duration);
  }

  /** Aborts when the locks are over, which they are together, with why. */
  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  /** For how long it lasts; 0 when it is over. */
  remainingMs(): number {
    if (this.#aborter.signal.aborted) return 0;
    const lastsMs = this.#endsAtMs - this.#client.session.clock.monotonicMs();
    return Math.max(0, Math.min(lastsMs, this.#held.remainingMs()));
  }

  /** Lasts so long from now on. Rejects with LockLostError when it is over. */
  extend(duration: number): Promise<RedlockLock> {
    checkDurationOf(duration);
    const loss = this.#lossOf();
    if (loss !== undefined) return Promise.reject(loss);
    this.#last(duration);
    return Promise.resolve(this);
  }

  /** Rejects with LockLostError when it was over before. */
  async release(): Promise<void> {
    const loss = this.#lossOf();
    this.#timer?.cancel();
    if (loss === undefined) return await this.#held.release();
    await this.#held[Symbol.asyncDispose]();
    throw loss;
  }

  #lossOf(): LockLostError | undefined {
    if (this.#loss !== undefined) return this.#loss;
    if (this.remainingMs() > 0) return undefined;
    return new LockLostError(this.#held.locks, 'expired');
  }

  #last(duration: number): void {
    const { clock } = this.#client.session;
    this.#timer?.cancel();
    this.#endsAtMs = clock.monotonicMs() + duration;
    this.#timer = clock.setTimer(duration, () => this.#end(new LockLostError(this.#held.locks, 'expired')));
  }

  #end(reason: LockLostError | undefined): void {
    if (this.#aborter.signal.aborted) return;
    this.#loss = reason;
    this.#timer?.cancel();
    this.#aborter.abort(reason);
    void this.#held[Symbol.asyncDispose]();
  }
}

export class Redlock {
  readonly #client: Client;
  readonly #settings: Required<RedlockSettings>;

  /** @internal Use `redlock`. */
  constructor(client: Client, settings: RedlockSettings) {
    checkOptionNames('redlock', settings, SETTINGS);
    this.#client = client;
    this.#settings = { retryCount: 10, retryDelay: 200, automaticExtensionThreshold: 500, ...settings };
  }

  /**
   * Locks all resources at once, or none: those who use this, in whichever order, cannot wait for each other in a circle. At most 64; one that is
   * given twice is locked once. Rejects with TimeoutError after `retryCount` times `retryDelay`, InvalidArgumentError for what no lock can be
   * named, and, for several, with the code UNSUPPORTED while the ensemble has servers that cannot grant them together.
   *
   * @example
   * const lock = await redlock(client).acquire(['accounts/42', 'accounts/43'], 5_000);
   */
  async acquire(resources: readonly string[], duration: number, settings: RedlockSettings = {}): Promise<RedlockLock> {
    checkOptionNames('acquire', settings, SETTINGS);
    checkDurationOf(duration);
    if (!Array.isArray(resources) || resources.length === 0)
      throw new InvalidArgumentError('acquire takes a list of resources, with at least one');
    const { retryCount, retryDelay } = { ...this.#settings, ...settings };
    const waitMs = retryCount < 0 ? Number.POSITIVE_INFINITY : retryCount * retryDelay;
    const held = await this.#client.locks([...new Set(resources)]).acquire({ waitMs });
    return new RedlockLock(this.#client, resources, held, duration);
  }

  /** Runs the routine under the locks, extends them while it runs, and releases them. The signal aborts when one of them is lost. */
  async using<T>(
    resources: readonly string[],
    duration: number,
    routine: (signal: AbortSignal, lock: RedlockLock) => PromiseLike<T>,
  ): Promise<T> {
    const { automaticExtensionThreshold: thresholdMs } = this.#settings;
    if (!(thresholdMs < duration))
      throw new InvalidArgumentError(
        `duration is ${duration}; it must be more than automaticExtensionThreshold, ${thresholdMs}`,
      );
    const lock = await this.acquire(resources, duration);
    const { clock } = this.#client.session;
    let timer: Timer | undefined;
    const extendInTime = (): void => {
      timer = clock.setTimer(duration - thresholdMs, () => {
        lock.extend(duration).then(extendInTime, () => undefined);
      });
    };
    extendInTime();
    let result: T;
    try {
      result = await routine(lock.signal, lock);
    } catch (error) {
      await lock.release().catch(() => undefined);
      throw error;
    } finally {
      timer?.cancel();
    }
    await lock.release().catch((error: unknown) => {
      // Not confirmed in time, it goes on in the background.
      if (!(error instanceof TimeoutError)) throw error;
    });
    return result;
  }

  extend(lock: RedlockLock, duration: number): Promise<RedlockLock> {
    return lock.extend(duration);
  }

  release(lock: RedlockLock): Promise<void> {
    return lock.release();
  }
}

/**
 * @example
 * await redlock(client).using(['accounts/42'], 5_000, async (signal, { token }) => await store.put('42', value, { token }));
 */
export function redlock(client: Client, settings: RedlockSettings = {}): Redlock {
  return new Redlock(client, settings);
}

function checkDurationOf(duration: number): void {
  if (Number.isFinite(duration) && duration > 0 && duration <= LONGEST_DURATION_MS) return;
  throw new InvalidArgumentError(
    `duration is ${String(duration)}; it must be from 1 to ${LONGEST_DURATION_MS} milliseconds`,
  );
}
