/**
 * One wait at the ensemble for all who want to enter a lock that their owner does not hold. Each gives up by its own limit and its own signal; the
 * wait goes on until the last of them has given up, or until it has an outcome for all who are left.
 */

import { offAbort, onAbort } from '@holdfast/runtime';
import type { Limited, TimeLimits } from '../../session/time-limits.ts';
import { SmallMap } from '../../session/small-map.ts';
import type { AcquireCall, AcquireFollower, AcquireOutcome } from '../acquire-call.ts';
import type { LockWait } from '../waits/lock-wait.ts';
import type { WaitCaller, WaitLook } from '../waits/wait-looks.ts';

/** By what a caller gives up, and how it is told. */
interface CallerOptions extends WaitCaller {
  readonly signal: AbortSignal | undefined;
}

export class SharedWait implements AcquireFollower {
  readonly #ended: () => void;
  /** In the order in which they came. */
  readonly #callers = new SmallMap<Caller, Caller>();
  #call: Pick<AcquireCall, 'giveUp'> | undefined;
  #look: WaitLook | undefined;
  /** The ensemble has answered. */
  #over = false;

  /** `ended` is called when nobody waits any more. */
  constructor(ended: () => void) {
    this.#ended = ended;
  }

  get callers(): number {
    return this.#callers.size;
  }

  begins(call: Pick<AcquireCall, 'giveUp'>): void {
    this.#call = call;
  }

  waits(look: WaitLook): void {
    this.#look = look;
    for (const caller of this.#callers.values()) look.join(caller);
  }

  join(options: CallerOptions, limits: TimeLimits): Promise<AcquireOutcome> {
    return new Promise((resolve) => {
      const caller = new Caller(options, limits, { wait: this, outcome: resolve });
      this.#callers.set(caller, caller);
      this.#look?.join(caller);
      caller.start();
    });
  }

  /** There is nothing to give up any more. */
  answered(): void {
    this.#over = true;
  }

  /** Gives everybody who still waits an outcome, in the order in which they came. */
  settle(outcome: () => AcquireOutcome): void {
    // Who is settled leaves: the set is walked as it is.
    for (const caller of this.#callers.values()) caller.settle(outcome);
  }

  /** What a caller has waited for, as it was seen last. */
  lastOf(caller: WaitCaller): LockWait | undefined {
    return this.#look?.lastOf(caller);
  }

  /** A caller waits no more. */
  leave(caller: Caller): void {
    this.#callers.delete(caller);
    this.#look?.leave(caller);
    if (this.#callers.size > 0) return;
    this.#ended();
    if (!this.#over) this.#call?.giveUp(undefined);
  }
}

interface CallerDeps {
  readonly wait: SharedWait;
  outcome(outcome: AcquireOutcome): void;
}

class Caller implements Limited, WaitCaller {
  readonly expiresAtMs: number;
  readonly onWait: ((wait: LockWait) => void) | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #limits: TimeLimits;
  readonly #deps: CallerDeps;
  #abort: ((reason: unknown) => void) | undefined;
  #settled = false;

  constructor({ expiresAtMs, onWait, signal }: CallerOptions, limits: TimeLimits, deps: CallerDeps) {
    this.expiresAtMs = expiresAtMs;
    this.onWait = onWait;
    this.#signal = signal;
    this.#limits = limits;
    this.#deps = deps;
  }

  start(): void {
    this.#limits.add(this);
    if (this.#signal === undefined) return;
    this.#abort = (reason) => this.settle(() => ({ type: 'aborted', reason }));
    onAbort(this.#signal, this.#abort);
  }

  expire(): void {
    const wait = this.#deps.wait.lastOf(this);
    // The wait that it shared may go on, but no hold comes of it for this caller.
    this.settle(() => ({ type: 'timeout', sent: true, mayTakeEffect: false, wait }));
  }

  /** Asks for the outcome unless it has one. */
  settle(outcome: () => AcquireOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#limits.delete(this);
    if (this.#signal !== undefined && this.#abort !== undefined) offAbort(this.#signal, this.#abort);
    this.#deps.wait.leave(this);
    this.#deps.outcome(outcome());
  }
}
