/**
 * One wait at the ensemble for all who want to enter a lock that their owner does not hold. Each gives up by its own limit and its own signal; the
 * wait goes on until the last of them has given up, or until it has an outcome for all who are left.
 */

import { offAbort, onAbort } from '@holdfast/runtime';
import type { Limited, TimeLimits } from '../../session/time-limits.ts';
import type { AcquireOutcome } from '../acquire-call.ts';
import type { LockWait } from '../waits/lock-wait.ts';
import type { WaitCaller, WaitLook } from '../waits/wait-looks.ts';

/** By what a caller gives up, and how it is told. */
interface CallerOptions extends WaitCaller {
  readonly signal: AbortSignal | undefined;
}

export class SharedWait {
  readonly #ended: () => void;
  readonly #aborter = new AbortController();
  /** In the order in which they came. */
  readonly #callers = new Set<Caller>();
  #look: WaitLook | undefined;
  /** The ensemble has answered. */
  #over = false;

  /** `ended` is called when nobody waits any more. */
  constructor(ended: () => void) {
    this.#ended = ended;
  }

  /** Aborts when nobody waits any more, and the ensemble has not answered. */
  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  get callers(): number {
    return this.#callers.size;
  }

  /** It waits at the ensemble, where `look` looks at it; in another session after the first has expired. */
  waits(look: WaitLook): void {
    this.#look = look;
    for (const caller of this.#callers) look.join(caller);
  }

  join(options: CallerOptions, limits: TimeLimits): Promise<AcquireOutcome> {
    return new Promise((resolve) => {
      const caller: Caller = new Caller(options, limits, {
        lastWait: () => this.#look?.lastOf(caller),
        left: () => this.#leave(caller),
        outcome: resolve,
      });
      this.#callers.add(caller);
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
    for (const caller of this.#callers) caller.settle(outcome);
  }

  #leave(caller: Caller): void {
    this.#callers.delete(caller);
    this.#look?.leave(caller);
    if (this.#callers.size > 0) return;
    this.#ended();
    // It makes an error each time.
    if (!this.#over) this.#aborter.abort();
  }
}

interface CallerDeps {
  /** What it has waited for, as it was seen last. */
  lastWait(): LockWait | undefined;
  /** It waits no more. */
  left(): void;
  outcome(outcome: AcquireOutcome): void;
}

class Caller implements Limited, WaitCaller {
  readonly expiresAtMs: number;
  readonly onWait: ((wait: LockWait) => void) | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #limits: TimeLimits;
  readonly #deps: CallerDeps;
  readonly #abort = (reason: unknown): void => this.settle(() => ({ type: 'aborted', reason }));
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
    if (this.#signal !== undefined) onAbort(this.#signal, this.#abort);
  }

  expire(): void {
    const wait = this.#deps.lastWait();
    // The wait that it shared may go on, but no hold comes of it for this caller.
    this.settle(() => ({ type: 'timeout', sent: true, mayTakeEffect: false, wait }));
  }

  /** Asks for the outcome unless it has one. */
  settle(outcome: () => AcquireOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#limits.delete(this);
    if (this.#signal !== undefined) offAbort(this.#signal, this.#abort);
    this.#deps.left();
    this.#deps.outcome(outcome());
  }
}
