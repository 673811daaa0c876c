/**
 * One hold that its owner has entered several times. Each entry is a hold of its own for whoever has it; the ensemble knows one, and is given it
 * back with the last entry. When it is lost all entries are, and it stays the owner's until the last of them has been released.
 */

import type { LockLossReason } from '../../errors.ts';
import { invariant } from '../../invariant.ts';
import type { CallOptions } from '../../session/call.ts';
import { SmallMap } from '../../session/small-map.ts';
import { HeldLock, type HoldKeeper } from '../held-lock.ts';
import type { Wanted } from '../wanted.ts';

export class ReentrantHold implements HoldKeeper {
  readonly #wanted: Wanted;
  /** What the ensemble has granted. */
  readonly #held: HeldLock;
  readonly #over: () => void;
  readonly #entries = new SmallMap<HeldLock, HeldLock>();

  /** `over` is called when the last entry is released, before the ensemble hears of it. */
  constructor(wanted: Wanted, held: HeldLock, over: () => void) {
    this.#wanted = wanted;
    this.#held = held;
    this.#over = over;
    held.followLoss((reason) => {
      for (const entry of this.#entries.values()) entry.markLost(reason);
    });
    held.followRequests((request) => {
      for (const entry of this.#entries.values()) entry.requestRelease(request);
    });
  }

  /** Entries that are to be released, lost or not. */
  get entries(): number {
    return this.#entries.size;
  }

  /** Why it was lost; undefined while it is held. Looks at the lease: the timer that watches it may be late. */
  get lossReason(): LockLossReason | undefined {
    this.lapsed();
    return this.#held.loss?.reason;
  }

  enter(): HeldLock {
    const { acquireIndex, token, news } = this.#held;
    const entry = new HeldLock(this.#wanted, acquireIndex, token, this, news);
    this.#entries.set(entry, entry);
    const { lossReason } = this;
    const { releaseRequest } = this.#held;
    if (releaseRequest !== undefined) entry.requestRelease(releaseRequest);
    if (lossReason !== undefined) entry.markLost(lossReason);
    return entry;
  }

  remainingMs(): number {
    return this.#held.remainingMs();
  }

  lapsed(): void {
    try {
      this.#held.assertHeld();
    } catch {
      // The entries have heard of it.
    }
  }

  release(entry: HeldLock): Promise<void> {
    entry.markLost('released');
    return this.#leave(entry) ? this.#held.release() : Promise.resolve();
  }

  releasedLost(entry: HeldLock): void {
    this.#leave(entry);
  }

  async verify(_entry: HeldLock, options: CallOptions): Promise<void> {
    await this.#held.verify(options);
  }

  async downgrade(_entry: HeldLock, options: CallOptions): Promise<void> {
    await this.#held.downgrade(options);
  }

  /** True for the last. */
  #leave(entry: HeldLock): boolean {
    invariant(this.#entries.has(entry), 'an-entry-is-released-once');
    this.#entries.delete(entry);
    if (this.#entries.size > 0) return false;
    this.#over();
    return true;
  }
}
