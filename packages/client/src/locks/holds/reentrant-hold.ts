/** One entry into a reentrant lock. All entries of an owner are one hold under one token, which is over when every one was released. */

import { HeldLock, type Granted, type HoldKeeper } from '../held-lock.ts';

/**
 * One entry into a reentrant lock.
 *
 * @example
 * const entry: ReentrantHold = await client.lock('accounts/42', { reentrant: true }).acquire();
 * await entry.release();
 */
export class ReentrantHold extends HeldLock {
  readonly #entries: Set<ReentrantHold>;

  /** @internal `outer`: another entry of the same hold. */
  constructor(granted: Granted, keeper: HoldKeeper, outer: HeldLock | undefined) {
    super(granted, keeper);
    this.#entries = outer instanceof ReentrantHold ? outer.#entries : new Set();
    this.#entries.add(this);
  }

  /** How often its owner has entered and not left, as far as this client knows. */
  get entries(): number {
    return this.#entries.size;
  }

  /** @internal */
  override handles(): readonly HeldLock[] {
    return [...this.#entries];
  }

  /** @internal */
  override leave(): HeldLock | undefined {
    this.#entries.delete(this);
    const [other] = this.#entries;
    return other;
  }
}
