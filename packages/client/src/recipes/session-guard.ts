/**
 * Guards what is ours for as long as a session lives, such as the claim of an item: lost when the session has ended, and already when its
 * lease has run out, since others may have it by then.
 */

import type { EndReason } from '@holdfast/protocol';
import { offAbort, onAbort } from '@holdfast/runtime';
import { LockLostError, type LockLossReason } from '../errors.ts';
import type { Incarnation } from '../incarnations/incarnation.ts';
import { LazyTimer } from '../lazy-timer.ts';

/** The lease is looked at so often, since the wall clock may jump or the machine may have slept. */
const LEASE_CHECK_MS = 1_000;

export class SessionGuard {
  readonly #what: string;
  readonly #incarnation: Incarnation;
  readonly #aborter = new AbortController();
  readonly #timer: LazyTimer;
  readonly #onEnded = (): void => this.end(this.#incarnation.lost?.reason ?? 'closed');
  readonly #onLost: (reason: EndReason) => void;
  #loss: LockLostError | undefined;

  /** `what` is guarded; `lost` is called once when it was lost, not when it is given back. */
  constructor(what: string, incarnation: Incarnation, lost: (reason: EndReason) => void) {
    this.#what = what;
    this.#incarnation = incarnation;
    this.#onLost = lost;
    this.#timer = new LazyTimer(incarnation.session.clock, () => this.#look());
    if (incarnation.session.over) this.#onEnded();
    else {
      onAbort(incarnation.ended, this.#onEnded);
      this.#look();
    }
  }

  /** Aborts when it is over, with a LockLostError as its reason. */
  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  get loss(): LockLostError | undefined {
    return this.#loss;
  }

  /** For how long nobody else can have it by this session's expiry. */
  remainingMs(): number {
    const { session } = this.#incarnation;
    return this.#loss !== undefined || session.over ? 0 : Math.max(0, session.lease.remainingMs());
  }

  /** @throws LockLostError when it is over, or may be */
  assertHeld(): void {
    if (this.#loss === undefined && this.remainingMs() === 0) this.end('expired');
    if (this.#loss !== undefined) throw this.#loss;
  }

  /** Once over it stays so. */
  end(reason: LockLossReason): void {
    if (this.#loss !== undefined) return;
    this.#loss = new LockLostError(this.#what, reason);
    this.#timer.stop();
    offAbort(this.#incarnation.ended, this.#onEnded);
    this.#aborter.abort(this.#loss);
    if (reason !== 'released') this.#onLost(reason);
  }

  #look(): void {
    const remainingMs = this.remainingMs();
    if (remainingMs === 0) this.end('expired');
    else this.#timer.ensure(this.#incarnation.session.clock.monotonicMs() + Math.min(remainingMs, LEASE_CHECK_MS));
  }
}
