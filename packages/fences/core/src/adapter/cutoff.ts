/** The signals that end one call. What goes on behind an abort is not awaited, and its failure is nobody's. */

import { offAbort, onAbort } from '@holdfast/runtime';
import { FenceError } from '../errors.ts';
import type { Holder } from '../holder.ts';
import { checkCall, checkMs } from './settings.ts';

/** An abort that comes while a commit is under way leaves it that long to answer. */
const COMMIT_GRACE_MS = 5_000;

export class Cutoff {
  readonly #signals: readonly AbortSignal[];
  readonly #message: string;
  /** Made where somebody wants a signal, which most calls do not. */
  #controller: AbortController | undefined;
  #ended: { readonly reason: unknown } | undefined;
  /** What waits, and is told of an abort. */
  readonly #waiting = new Set<() => void>();
  readonly #abort: (reason: unknown) => void;

  /** @param message of the error ABORTED */
  constructor(
    signals: readonly (AbortSignal | null | undefined)[],
    message = 'the call was ended by a signal before it committed; nothing was written',
  ) {
    this.#signals = signals.filter((signal) => signal !== undefined && signal !== null);
    this.#message = message;
    this.#abort = (reason) => {
      this.#ended ??= { reason };
      this.#controller?.abort(reason);
      for (const stop of this.#waiting) stop();
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

  /** Rejects when a signal aborts, or with the error of the limit, if the work takes longer. */
  race<Result>(work: Promise<Result>, limit?: TimeLimit): Promise<Result> {
    return this.#unless(work, () => Promise.reject(this.#error()), limit);
  }

  /** For a write whose outcome counts: an abort lets it go on for that long. */
  raceLate<Result>(work: Promise<Result>, graceMs: number = COMMIT_GRACE_MS): Promise<Result> {
    return this.#unless(work, () => bounded(work, graceMs, () => underWay('the commit', this.#ended?.reason)));
  }

  /** One promise and no chain of them, since every call waits by it several times. */
  #unless<Result>(work: Promise<Result>, otherwise: () => Promise<Result>, limit?: TimeLimit): Promise<Result> {
    if (this.#signals.length === 0 && limit === undefined) return work;
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        leave();
        otherwise().then(resolve, reject);
      };
      const timer = limit === undefined ? undefined : setTimeout(() => reject(limit.late()), limit.ms);
      const leave = (): void => {
        this.#waiting.delete(stop);
        clearTimeout(timer);
      };
      this.#waiting.add(stop);
      // What is no promise comes of JavaScript.
      Promise.resolve(work).then(
        (result) => {
          leave();
          resolve(result);
        },
        (error: unknown) => {
          leave();
          reject(error);
        },
      );
      // Behind what is done already.
      if (this.aborted) queueMicrotask(stop);
    });
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

export interface TimeLimit {
  readonly ms: number;
  readonly late: () => FenceError;
}

/** Rejects with `late` if the work takes longer. */
export function bounded<Result>(work: Promise<Result>, ms: number, late: () => FenceError): Promise<Result> {
  return new Cutoff([]).race(work, { ms, late });
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

/** The one limit of time that a call has. */
export interface Limit {
  readonly name: 'waitMs' | 'timeoutMs';
  readonly defaultMs: number;
  /** Of the error ABORTED. */
  readonly ended?: string | undefined;
}

interface LimitedCall {
  readonly scope: string;
  readonly holder: Holder;
  readonly options: { readonly signal?: AbortSignal | undefined } & {
    readonly [Name in Limit['name']]?: number | undefined;
  };
}

/** One call with its options, which are a signal and a limit. Nothing is begun before its arguments are well-formed. */
export async function withLimit<Result>(
  what: 'fence' | 'install',
  { name, defaultMs, ended }: Limit,
  of: LimitedCall,
  run: (cutoff: Cutoff, ms: number) => Promise<Result>,
): Promise<Result> {
  checkCall(what, of, { signal: true, [name]: true });
  const { signal, [name]: ms = defaultMs } = of.options;
  checkMs(name, ms);
  return await withCutoff(of.holder, signal, (cutoff) => run(cutoff, ms), ended);
}
