/** The signals that end one call. What goes on behind an abort is not awaited, and its failure is nobody's. */

import { offAbort, onAbort } from '@holdfast/runtime';
import { FenceError } from '../errors.ts';
import type { Holder } from '../holder.ts';

/** An abort that comes while a commit is under way leaves it that long to answer. */
const COMMIT_GRACE_MS = 5_000;

export class Cutoff {
  readonly #signals: readonly AbortSignal[];
  readonly #message: string;
  /** Made where somebody wants a signal, which most calls do not. */
  #controller: AbortController | undefined;
  #ended: { readonly reason: unknown } | undefined;
  readonly #aborted: Promise<void>;
  readonly #abort: (reason: unknown) => void;

  /** @param message of the error ABORTED */
  constructor(
    signals: readonly (AbortSignal | null | undefined)[],
    message = 'the call was ended by a signal before it committed; nothing was written',
  ) {
    this.#signals = signals.filter((signal) => signal !== undefined && signal !== null);
    this.#message = message;
    let resolve: () => void = () => undefined;
    this.#aborted = new Promise<void>((resolving) => {
      resolve = resolving;
    });
    this.#abort = (reason) => {
      this.#ended ??= { reason };
      this.#controller?.abort(reason);
      resolve();
    };
    for (const signal of this.#signals) onAbort(signal, this.#abort);
    const first = this.#signals.find(({ aborted }) => aborted);
    if (first !== undefined) this.#abort(first.reason);
  }

  /** All of them as one, which requests are given. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#ended !== undefined) this.#controller.abort(this.#ended.reason);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#ended !== undefined;
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.#error();
  }

  /** Rejects when a signal aborts, if the work takes longer. */
  async race<Result>(work: Promise<Result>): Promise<Result> {
    if (this.#signals.length === 0) return await work;
    const aborted = this.#aborted.then((): never => {
      throw this.#error();
    });
    return await Promise.race([work, aborted]);
  }

  /** For a write whose outcome counts: an abort lets it go on for that long. */
  async raceLate<Result>(work: Promise<Result>, graceMs: number = COMMIT_GRACE_MS): Promise<Result> {
    if (this.#signals.length === 0) return await work;
    const late = (): FenceError => underWay('the commit', this.#ended?.reason);
    const aborted = this.#aborted.then(() => bounded(work, graceMs, late));
    return await Promise.race([work, aborted]);
  }

  end(): void {
    for (const signal of this.#signals) offAbort(signal, this.#abort);
  }

  #error(): FenceError {
    return new FenceError('ABORTED', this.#message, { cause: this.#ended?.reason });
  }
}

/** @param what as of "the commit" */
export function underWay(what: string, cause: unknown): FenceError {
  const text = `a signal ended the call while ${what} was under way: it may have happened`;
  return new FenceError('ABORTED', text, { indeterminate: true, cause });
}

/** Rejects with `late` if the work takes longer. */
export async function bounded<Result>(work: Promise<Result>, ms: number, late: () => FenceError): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, end]);
  } finally {
    clearTimeout(timer);
  }
}

/** One call: while the lock is held as far as the holder knows, and until a signal ends it. */
export async function withCutoff<Result>(
  holder: Holder,
  signal: AbortSignal | undefined,
  run: (cutoff: Cutoff) => Promise<Result>,
  message?: string,
): Promise<Result> {
  holder.assertHeld?.();
  const cutoff = new Cutoff([holder.signal, signal], message);
  try {
    cutoff.throwIfAborted();
    return await run(cutoff);
  } finally {
    cutoff.end();
  }
}
