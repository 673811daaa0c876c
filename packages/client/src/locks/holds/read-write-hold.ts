/** A hold of a read-write lock. */

import type { LockMode } from '@holdfast/protocol';
import type { Granted, HoldKeeper } from '../held-lock.ts';
import { SharedHold } from './shared-hold.ts';

/**
 * A hold of a read-write lock, to read or to write.
 *
 * @example
 * const writing: ReadWriteHold = await client.readWriteLock('report').write().acquire();
 * await writing.release();
 */
export class ReadWriteHold extends SharedHold {
  #mode: LockMode;

  /** @internal */
  constructor(granted: Granted, keeper: HoldKeeper, mode: LockMode) {
    super(granted, keeper);
    this.#mode = mode;
  }

  /** `write`: it is the only hold. `read`: others may read beside it. */
  get mode(): LockMode {
    return this.#mode;
  }

  /**
   * Goes on reading and writes no more, under the same token and without anybody between: readers who wait are granted in the same entry. From
   * this call on the mode is `read`. Rejects with LockLostError if the hold was lost, and with InvalidArgumentError if it reads already.
   * After TimeoutError it is done in the background.
   */
  async downgrade(): Promise<void> {
    this.assertHeld();
    this.#mode = 'read';
    await this.keeper.convert(this, { type: 'readWrite', mode: 'read' }, `downgrade "${this.lock}"`);
  }

  /**
   * Always refused, by InvalidArgumentError: two readers who both wait to write would wait for each other for ever. Release it, acquire for
   * writing, and look again at what was read.
   */
  async upgrade(): Promise<never> {
    this.assertHeld();
    await this.keeper.convert(this, { type: 'readWrite', mode: 'write' }, `upgrade "${this.lock}"`);
    throw new Error('the ensemble has upgraded a hold, which it never does');
  }
}
