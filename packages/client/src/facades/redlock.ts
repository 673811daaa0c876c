/**
 * The shape of redlock over an ensemble, for those who migrate: `acquire`, `using`, `extend`, `release`. The clients that were Redis servers are
 * one client. A lock lasts as long as its duration says and the session lives, without a drift to be guessed; it has a token, by which the
 * resource can refuse who comes late.
 */

import type { Timer } from '@holdfast/runtime';
import type { Client } from '../client.ts';
import { InvalidArgumentError, LockLostError, TimeoutError } from '../errors.ts';
import type { HeldLock } from '../locks/held-lock.ts';
import { checkOptionNames } from '../option-names.ts';

/**
 * How often and how long it is tried.
 *
 * @example
 * const locks = redlock(client, { retryCount: 3 });
 */
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

/**
 * The locks of several resources under one handle.
 *
 * @example
 * const lock = await redlock(client).acquire(['accounts/42'], 10_000);
 * await lock.release();
 */
export class RedlockLock {
  readonly resources: readonly string[];
  /** In the order of `resources`. */
  readonly tokens: readonly number[];
  readonly #held: readonly HeldLock[];
  readonly #client: Client;
  readonly #aborter = new AbortController();
  #timer: Timer | undefined;
  #endsAtMs = 0;
  #loss: LockLostError | undefined;

  /** @internal */
  constructor(client: Client, resources: readonly string[], held: ReadonlyMap<string, HeldLock>, duration: number) {
    this.#client = client;
    this.resources = resources;
    this.#held = [...held.values()];
    this.tokens = resources.map((resource) => held.get(resource)?.token ?? 0);
    for (const each of this.#held) {
      const lost = (): void => this.#end(each.loss);
      each.signal.addEventListener('abort', lost, { once: true });
    }
    this.#last(duration);
  }

  /** Aborts when any of the locks is over, with why. */
  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  /** For how long it lasts; 0 when it is over. */
  remainingMs(): number {
    if (this.#aborter.signal.aborted) return 0;
    const lastsMs = this.#endsAtMs - this.#client.session.clock.monotonicMs();
    return Math.max(0, Math.min(lastsMs, ...this.#held.map((held) => held.remainingMs())));
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
    const released = await Promise.allSettled(this.#held.map((held) => held.release()));
    if (loss !== undefined) throw loss;
    for (const each of released) if (each.status === 'rejected') throw each.reason;
  }

  #lossOf(): LockLostError | undefined {
    if (this.#loss !== undefined) return this.#loss;
    if (this.remainingMs() > 0) return undefined;
    return new LockLostError(this.resources.join(', '), 'expired');
  }

  #last(duration: number): void {
    const { clock } = this.#client.session;
    this.#timer?.cancel();
    this.#endsAtMs = clock.monotonicMs() + duration;
    this.#timer = clock.setTimer(duration, () => this.#end(new LockLostError(this.resources.join(', '), 'expired')));
  }

  #end(reason: LockLostError | undefined): void {
    if (this.#aborter.signal.aborted) return;
    this.#loss = reason;
    this.#timer?.cancel();
    this.#aborter.abort(reason);
    for (const held of this.#held) void held[Symbol.asyncDispose]();
  }
}

/**
 * The shape of redlock, over locks of the ensemble. Made by `redlock`.
 *
 * @example
 * const lock = await redlock(client).acquire(['accounts/42'], 10_000);
 * await lock.release();
 */
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
   * Locks all resources, or none. They are locked in the order of their names, so that those who use this cannot wait for each other in a
   * circle. Rejects with TimeoutError after `retryCount` times `retryDelay`.
   */
  async acquire(resources: readonly string[], duration: number, settings: RedlockSettings = {}): Promise<RedlockLock> {
    checkOptionNames('acquire', settings, SETTINGS);
    checkDurationOf(duration);
    if (!Array.isArray(resources) || resources.length === 0)
      throw new InvalidArgumentError('acquire takes a list of resources, with at least one');
    const { retryCount, retryDelay } = { ...this.#settings, ...settings };
    const waitMs = retryCount < 0 ? Number.POSITIVE_INFINITY : retryCount * retryDelay;
    const { clock } = this.#client.session;
    const endMs = clock.monotonicMs() + waitMs;
    const held = new Map<string, HeldLock>();
    try {
      for (const resource of [...new Set(resources)].toSorted((one, other) => (one < other ? -1 : 1))) {
        const leftMs = Math.max(0, endMs - clock.monotonicMs());
        held.set(resource, await this.#client.lock(resource).acquire({ waitMs: leftMs }));
      }
      for (const each of held.values()) each.assertHeld();
    } catch (error) {
      await Promise.all([...held.values()].map((each) => each[Symbol.asyncDispose]()));
      throw error;
    }
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
 * Locks of the ensemble with the shape of redlock.
 *
 * @example
 * await redlock(client).using(['accounts/42'], 5_000, async (signal, { tokens: [token] }) => await store.put('42', value, { token }));
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
