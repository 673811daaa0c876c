/**
 * So many permits, of which a holder has one or several. Whoever asks for many is not passed over by those who ask for few. The number of
 * permits is the same for all who use the semaphore at one time: another is refused.
 */

import { MAX_PERMITS } from '@holdfast/protocol';
import { InvalidArgumentError } from '../../errors.ts';
import type { Present } from '../../incarnations/incarnation.ts';
import { checkOptionNames } from '../../option-names.ts';
import type { PermitsHold } from '../holds/permits-hold.ts';
import { Lock, type AcquireOptions, type TryAcquireOptions, type TryAcquireResult } from '../lock.ts';
import type { LockEvent, LockWatchOptions } from '../lock-watch.ts';

/**
 * Of an acquire of a semaphore.
 *
 * @example
 * const three: PermitsOption = { permits: 3 };
 * await client.semaphore('printers', { permits: 10 }).acquire(three);
 */
export interface PermitsOption {
  /** How many, all at once. @default 1 */
  readonly permits?: number;
}

const ACQUIRE_OPTIONS = { permits: true, waitMs: true, signal: true, onWait: true } as const;

/**
 * So many permits, of which each holder has one or several. Made by `client.semaphore`.
 *
 * @example
 * const printers = client.semaphore('printers', { permits: 10 });
 * const permit = await printers.acquire();
 * await permit.release();
 */
export class Semaphore {
  readonly name: string;
  /** That it has. */
  readonly permits: number;
  readonly #present: Present;
  /** For one permit, as most ask. */
  readonly #one: Lock<PermitsHold>;

  /** @internal */
  constructor(name: string, permits: number, present: Present) {
    checkPermits(`semaphore "${name}"`, permits, MAX_PERMITS);
    this.name = name;
    this.permits = permits;
    this.#present = present;
    this.#one = this.#lockFor(1);
  }

  /** As `acquire` of a lock, for so many permits. */
  acquire(options: AcquireOptions & PermitsOption = {}): Promise<PermitsHold> {
    const { lock, rest } = this.#asked('acquire', options);
    return lock.acquire(rest);
  }

  /** As `tryAcquire` of a lock, for so many permits. */
  tryAcquire(options: TryAcquireOptions & PermitsOption = {}): Promise<TryAcquireResult<PermitsHold>> {
    const { lock, rest } = this.#asked('tryAcquire', options);
    return lock.tryAcquire(rest);
  }

  /**
   * Acquires, runs `body`, releases; as `withLock` of a lock.
   *
   * @example
   * await client.semaphore('uploads', { permits: 5 }).withPermits(async (held) => await upload(file, held.token));
   */
  withPermits<T>(
    body: (held: PermitsHold) => T | PromiseLike<T>,
    options: AcquireOptions & PermitsOption = {},
  ): Promise<T> {
    const { lock, rest } = this.#asked('withPermits', options);
    return lock.withLock(body, rest);
  }

  /** As `watch` of a lock. */
  watch(options: LockWatchOptions = {}): AsyncGenerator<LockEvent, void, undefined> {
    return this.#one.watch(options);
  }

  #asked(
    what: string,
    options: AcquireOptions & PermitsOption,
  ): { readonly lock: Lock<PermitsHold>; readonly rest: AcquireOptions } {
    checkOptionNames(what, options, ACQUIRE_OPTIONS);
    const { permits = 1, ...rest } = options;
    checkPermits(`${what} of semaphore "${this.name}"`, permits, this.permits);
    return { lock: permits === 1 ? this.#one : this.#lockFor(permits), rest };
  }

  #lockFor(count: number): Lock<PermitsHold> {
    return new Lock(this.name, { type: 'semaphore', permits: this.permits, count }, this.#present);
  }
}

function checkPermits(what: string, permits: number, most: number): void {
  if (Number.isSafeInteger(permits) && permits >= 1 && permits <= most) return;
  throw new InvalidArgumentError(`${what}: permits is ${String(permits)}; it must be a whole number from 1 to ${most}`);
}
