/** The signals that end one call. What goes on behind an abort is not awaited, and its failure is nobody's. */

import { FenceError } from '@holdfast/fence';
import { offAbort, onAbort } from '@holdfast/runtime';

export class Cutoff {
  readonly #signals: readonly AbortSignal[];
  readonly #aborted: Promise<never>;
  #reject: (error: FenceError) => void = () => undefined;
  readonly #abort = (): void => {
    if (this.error !== undefined) this.#reject(this.error);
  };

  constructor(signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals.filter((signal) => signal !== undefined);
    this.#aborted = new Promise((_, reject) => {
      this.#reject = reject;
    });
    this.#aborted.catch(() => undefined);
    for (const signal of this.#signals) onAbort(signal, this.#abort);
    this.#abort();
  }

  /** Undefined while no signal has aborted. */
  get error(): FenceError | undefined {
    const aborted = this.#signals.find((signal) => signal.aborted);
    if (aborted === undefined) return undefined;
    return new FenceError('ABORTED', 'the call was ended by a signal before it committed; nothing was written', {
      cause: aborted.reason,
    });
  }

  throwIfAborted(): void {
    if (this.error !== undefined) throw this.error;
  }

  /** Rejects when a signal aborts, if the work takes longer. */
  async race<Result>(work: Promise<Result>): Promise<Result> {
    return await Promise.race([work, this.#aborted]);
  }

  /** An abort lets the work go on for that long. */
  async raceLate<Result>(work: Promise<Result>, graceMs: number, late: () => FenceError): Promise<Result> {
    let timer: NodeJS.Timeout | undefined;
    const patience = this.#aborted.catch(
      async () =>
        await new Promise<never>((_, reject) => {
          timer = setTimeout(() => reject(late()), graceMs);
        }),
    );
    patience.catch(() => undefined);
    try {
      return await Promise.race([work, patience]);
    } finally {
      clearTimeout(timer);
    }
  }

  end(): void {
    for (const signal of this.#signals) offAbort(signal, this.#abort);
  }
}
