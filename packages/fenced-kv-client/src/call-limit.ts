/** How long a call may take, and what ends it. */

import { offAbort, onAbort } from '@holdfast/runtime';

/** Longer ones make Node's timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The time and the signals that end one call, as one signal of its own. `AbortSignal.timeout` and `any` would do the same, and stay
 * behind: 2.4 KB a call for as long as the limit, and some for as long as the caller's signal lives.
 */
export class CallLimit {
  timedOut = false;
  readonly #aborter = new AbortController();
  readonly #signals: readonly AbortSignal[];
  readonly #abort = (reason: unknown): void => this.#aborter.abort(reason);
  readonly #timer: NodeJS.Timeout;

  constructor(timeoutMs: number, signals: readonly AbortSignal[]) {
    this.#signals = signals;
    for (const signal of signals) onAbort(signal, this.#abort);
    this.#timer = setTimeout(
      () => {
        this.timedOut = true;
        this.#aborter.abort();
      },
      Math.min(timeoutMs, MAX_TIMER_MS),
    );
  }

  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  /** No limit of time any more. */
  endTime(): void {
    clearTimeout(this.#timer);
  }

  /** Leaves neither a timer nor a listener behind. */
  end(): void {
    this.endTime();
    for (const signal of this.#signals) offAbort(signal, this.#abort);
  }
}
