/** Sees to it that a call settles once, and leaves neither a limit of time nor an abort listener behind. */

import { offAbort, onAbort } from '@holdfast/runtime';
import type { Session } from './session.ts';
import type { Limited } from './time-limits.ts';

export class Settlement {
  readonly #session: Session;
  readonly #limited: Limited;
  readonly signal: AbortSignal | undefined;
  readonly #abort: (reason: unknown) => void;
  #settled = false;

  constructor(session: Session, limited: Limited, signal: AbortSignal | undefined, abort: (reason: unknown) => void) {
    this.#session = session;
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
    this.#session.limits.add(this.#limited);
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
    this.#session.limits.delete(this.#limited);
    if (this.signal !== undefined) offAbort(this.signal, this.#abort);
    return true;
  }
}
