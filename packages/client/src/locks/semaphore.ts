/** So many permits, of which each holder has some. */

import { MAX_PERMITS } from '@holdfast/protocol';
import { InvalidArgumentError } from '../errors.ts';
import type { Present } from '../incarnations/incarnation.ts';
import { checkOptionNames } from '../option-names.ts';
import {
  ACQUIRE_OPTIONS,
  checkAcquireOptions,
  runHolding,
  type AcquireOptions,
  type TryAcquireOptions,
  type TryAcquireResult,
} from './acquiring.ts';
import type { HeldLock } from './held-lock.ts';
import type { LockEvent, LockWatchOptions } from './lock-watch.ts';
import { Lock } from './lock.ts';
import { LOCK_OPTIONS, withOptions, type LockOptions } from './lock-options.ts';
import { wantedOf } from './wanted.ts';

/**
 * What a semaphore has.
 *
 * @example
 * const slots = client.semaphore('exports', { permits: 3 });
 */
export interface SemaphoreOptions extends LockOptions {
  /** How many there are, from 1 to 1,000,000. Everybody who uses the semaphore has to say the same number. */
  readonly permits: number;
}

/**
 * How many permits are taken.
 *
 * @example
 * const held = await client.locks(['accounts/42', slots.lock({ permits: 2 })]).acquire();
 */
export interface PermitOptions {
  /** From 1 to as many as there are; all of them at once, or none. @default 1 */
  readonly permits?: number;
}

/**
 * As for a lock, and how many permits are taken.
 *
 * @example
 * const held = await slots.acquire({ permits: 2, waitMs: 10_000 });
 */
export interface SemaphoreAcquireOptions extends AcquireOptions, PermitOptions {}

/**
 * As for a lock, and how many permits are taken.
 *
 * @example
 * const attempt = await slots.tryAcquire({ permits: 2 });
 */
export interface SemaphoreTryAcquireOptions extends TryAcquireOptions, PermitOptions {}

const SEMAPHORE_OPTIONS: Record<keyof SemaphoreOptions, true> = { permits: true, ...LOCK_OPTIONS };
const PERMIT_OPTIONS: Record<keyof PermitOptions, true> = { permits: true };
const OPTIONS: Record<keyof SemaphoreAcquireOptions, true> = { ...ACQUIRE_OPTIONS, ...PERMIT_OPTIONS };

/**
 * Lets in as many as there are permits. Whoever comes first is granted first, so that one who asks for many is not starved by those who ask for
 * few. The permits of a client whose session ends are free again.
 *
 * Several hold at the same time, under different tokens: a resource that refuses all but the highest one is no fence for a semaphore. It keeps
 * the floor that each holder tells it, `held.floor`, and refuses what lies below.
 *
 * @example
 * await client.semaphore('exports', { permits: 3 }).withLock(() => runExport(), { waitMs: 60_000 });
 */
export class Semaphore {
  readonly name: string;
  /** How many there are. */
  readonly permits: number;
  readonly #options: LockOptions;
  readonly #present: Present;
  /** For as many permits as were asked for last: mostly it is the same number each time. */
  #last: { readonly permits: number; readonly lock: Lock };

  /** @internal Use `client.semaphore`. */
  constructor(name: string, options: SemaphoreOptions, present: Present) {
    checkOptionNames('semaphore', options, SEMAPHORE_OPTIONS);
    const { permits } = options;
    if (!isCount(permits, MAX_PERMITS))
      throw new InvalidArgumentError(
        `semaphore was given ${String(permits)} permits; it takes a whole number from 1 to ${MAX_PERMITS}`,
      );
    this.name = name;
    this.permits = permits;
    this.#options = options;
    this.#present = present;
    this.#last = { permits: 1, lock: this.#lockOf(1) };
  }

  /**
   * Waits for the permits. Rejects as `acquire` of a lock does, and with InvalidArgumentError when the semaphore is in use with another number
   * of permits, or when more are asked for than there are.
   *
   * @example
   * const held = await client.semaphore('memory', { permits: 64 }).acquire({ permits: 16, waitMs: 10_000 });
   */
  async acquire(options: SemaphoreAcquireOptions = {}): Promise<HeldLock> {
    checkAcquireOptions('acquire', options, OPTIONS);
    return await this.#take(options.permits).acquire(withoutPermits(options));
  }

  /** Like `acquire`, but not getting the permits is a result, as for a lock. */
  async tryAcquire(options: SemaphoreTryAcquireOptions = {}): Promise<TryAcquireResult> {
    checkAcquireOptions('tryAcquire', options, OPTIONS);
    return await this.#take(options.permits).tryAcquire(withoutPermits(options));
  }

  /** Acquires, runs `body`, releases, as `withLock` of a lock does. */
  async withLock<T>(body: (held: HeldLock) => T | PromiseLike<T>, options: SemaphoreAcquireOptions = {}): Promise<T> {
    return await runHolding(await this.acquire(options), body);
  }

  /**
   * So many permits as a lock, to be taken together with others. @throws InvalidArgumentError
   *
   * @example
   * await client.locks(['accounts/42', client.semaphore('exports', { permits: 3 }).lock()]).withLock(() => runExport());
   */
  lock(options: PermitOptions = {}): Lock {
    checkOptionNames('lock', options, PERMIT_OPTIONS);
    return this.#take(options.permits);
  }

  /** Tells who has permits and who waits, and each change from then on, as `watch` of a lock does. */
  watch(options: LockWatchOptions = {}): AsyncGenerator<LockEvent, void, undefined> {
    return this.#take().watch(options);
  }

  #take(permits = 1): Lock {
    const { name, permits: limit } = this;
    if (!isCount(permits, limit))
      throw new InvalidArgumentError(
        `${String(permits)} permits of semaphore ${JSON.stringify(name)} were asked for, which has ${limit}; ask for a whole number from 1 to ${limit}`,
      );
    if (this.#last.permits !== permits) this.#last = { permits, lock: this.#lockOf(permits) };
    return this.#last.lock;
  }

  /** @throws InvalidArgumentError */
  #lockOf(permits: number): Lock {
    const { name, permits: limit } = this;
    const asked = { type: 'semaphore', permits, limit } as const;
    return new Lock(withOptions(wantedOf({ lock: name, asked }), this.#options), this.#present);
  }
}

function withoutPermits(options: SemaphoreAcquireOptions): AcquireOptions {
  if (!('permits' in options)) return options;
  const { permits: _, ...others } = options;
  return others;
}

function isCount(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most;
}
