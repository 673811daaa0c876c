/** The signals of the holder and of the call as one, which requests are given. */

import { FenceError } from '@holdfast/fence';
import { offAbort, onAbort } from '@holdfast/runtime';

export class Cutoff {
  readonly #signals: readonly AbortSignal[];
  readonly #controller = new AbortController();
  readonly #aborted: Promise<never>;
  readonly #abort: (reason: unknown) => void;

  constructor(signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals.filter((signal) => signal !== undefined);
    let reject: (error: FenceError) => void = () => undefined;
    this.#aborted = new Promise((_, rejecting) => {
      reject = rejecting;
    });
    this.#aborted.catch(() => undefined);
    this.#abort = (reason) => {
      this.#controller.abort(reason);
      reject(abortedBy(reason));
    };
    for (const signal of this.#signals) onAbort(signal, this.#abort);
    const first = this.#signals.find(({ aborted }) => aborted);
    if (first !== undefined) this.#abort(first.reason);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  throwIfAborted(): void {
    if (this.signal.aborted) throw abortedBy(this.signal.reason);
  }

  /** Rejects when a signal aborts, if the work takes longer. */
  async race<Result>(work: Promise<Result>): Promise<Result> {
    work.catch(() => undefined);
    return await Promise.race([work, this.#aborted]);
  }

  end(): void {
    for (const signal of this.#signals) offAbort(signal, this.#abort);
  }
}

function abortedBy(cause: unknown): FenceError {
  return new FenceError('ABORTED', 'the call was ended by a signal before it published; nothing was written', {
    cause,
  });
}
