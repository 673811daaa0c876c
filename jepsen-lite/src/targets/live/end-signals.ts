/**
 * Signals that ask a live run to end before its time. It ends in order, whatever it is at, since processes, disks and networks that it made
 * outlive it otherwise.
 */

import type { Violation } from '../../checkers/violation.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Of a run that was ended so: whoever would begin another should not. */
export const INTERRUPTED: Violation = { name: 'the-run-is-not-interrupted', message: 'it was told to stop' };

export class EndSignals {
  #heard = false;
  #ended: () => void = () => undefined;
  readonly #hear = (): void => {
    this.#heard = true;
    this.#ended();
  };

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#hear);
  }

  /** One came since it began to listen. */
  get heard(): boolean {
    return this.#heard;
  }

  /** Calls `ended` when one comes; at once, if one came before. */
  tell(ended: () => void): void {
    this.#ended = ended;
    if (this.#heard) ended();
  }

  /** From now on a signal ends the process. */
  close(): void {
    for (const signal of SIGNALS) process.off(signal, this.#hear);
  }
}
