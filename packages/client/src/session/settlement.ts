/** Sees to it that a call settles once, and leaves neither a limit of time nor an abort listener behind. */

import { offAbort, onAbort } from '@holdfast/runtime';
import type { Limited, TimeLimits } from './time-limits.ts';

export class Settlement {
  readonly #limits: TimeLimits;
  readonly #limited: Limited;
  readonly signal: AbortSignal | undefined;
  readonly #abort: (reason: unknown) => void;
  #settled = false;

  constructor(
    { limits }: { readonly limits: TimeLimits },
    limited: Limited,
    signal: AbortSignal | undefined,
    abort: (reason: unknown) => void,
  ) {
    this.#limits = limits;
    this.#limited = limited;
    this.signal = signal;
    this.#abort = abort;
  }

  start(reject: (reason: unknown) => void, submit: () => void): void {
    if (this.signal?.aborted === true) {
      this.#settled = true;
      reject(this.signal.reason);
      return;
    }
    this.#limits.add(this.#limited);
    if (this.signal !== undefined) onAbort(this.signal, this.#abort);
    try {
      submit();
    } catch (error) {
      this.settle();
      reject(error);
    }
  }

  get settled(): boolean {
    return this.#settled;
  }

  /** False when it was settled before. */
  settle(): boolean {
    if (this.#settled) return false;
    this.#settled = true;
    this.#limits.delete(this.#limited);
    if (this.signal !== undefined) offAbort(this.signal, this.#abort);
    return true;
  }
}
