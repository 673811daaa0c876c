/** Permits of a semaphore. */

import { InvalidArgumentError } from '../../errors.ts';
import type { Granted, HoldKeeper } from '../held-lock.ts';
import { SharedHold } from './shared-hold.ts';

/**
 * Permits of a semaphore, held together.
 *
 * @example
 * const permits: PermitsHold = await client.semaphore('printers', { permits: 10 }).acquire({ permits: 3 });
 * await permits.release();
 */
export class PermitsHold extends SharedHold {
  /** That the semaphore has. */
  readonly #of: number;
  #permits: number;

  /** @internal */
  constructor(
    granted: Granted,
    keeper: HoldKeeper,
    { permits, count }: { readonly permits: number; readonly count: number },
  ) {
    super(granted, keeper);
    this.#of = permits;
    this.#permits = count;
  }

  /** How many it has. */
  get permits(): number {
    return this.#permits;
  }

  /**
   * Gives back some of several permits, and keeps the others under the same token. From this call on they are not this hold's. Rejects with
   * LockLostError if the hold was lost, and with InvalidArgumentError for all of them: that is a release. After TimeoutError they are given
   * back in the background.
   *
   * @example
   * await held.giveBack(2); // of 5
   */
  async giveBack(count: number): Promise<void> {
    this.assertHeld();
    if (!Number.isSafeInteger(count) || count < 1 || count >= this.#permits) {
      throw new InvalidArgumentError(
        `${String(count)} permits cannot be given back of ${this.#permits}: from 1 to ${this.#permits - 1} can; release gives back all`,
      );
    }
    this.#permits -= count;
    const request = { type: 'semaphore', permits: this.#of, count: this.#permits } as const;
    await this.keeper.convert(this, request, `give back ${count} permits of "${this.lock}"`);
  }
}
