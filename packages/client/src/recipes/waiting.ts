/** The limits of what waits in a recipe, and what is undone when nobody waits for it any more. */

import { offAbort, onAbort, type Clock } from '@holdfast/runtime';
import { TimeoutError } from '../errors.ts';
import { checkOptionNames } from '../option-names.ts';
import { checkDuration } from '../options.ts';

/**
 * How long is waited, and what gives up.
 *
 * @example
 * await client.barrier('maintenance').wait({ waitMs: 5_000 });
 */
export interface WaitOptions {
  /** How long to wait; TimeoutError after that. @default no limit */
  readonly waitMs?: number;
  /** Gives up, with the signal's reason. */
  readonly signal?: AbortSignal;
}

const WAIT_OPTIONS: Record<keyof WaitOptions, true> = { waitMs: true, signal: true };

/** Longer ones make Node's timers fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** @throws InvalidArgumentError */
export function checkWaitOptions(what: string, options: WaitOptions): void {
  checkOptionNames(what, options, WAIT_OPTIONS);
  checkDuration('waitMs', options.waitMs);
}

/**
 * Runs `body` with a signal that aborts when the time is over, or the caller's does. What it has `seen` last is why it still waits, and stands in
 * the TimeoutError. Leaves neither a timer nor a listener.
 */
export async function withinLimits<T>(
  clock: Clock,
  what: string,
  { waitMs = Number.POSITIVE_INFINITY, signal }: WaitOptions,
  body: (signal: AbortSignal, seen: (state: string) => void) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const aborter = new AbortController();
  const abort = (reason: unknown): void => aborter.abort(reason);
  let state = 'the ensemble has not answered';
  if (signal !== undefined) onAbort(signal, abort);
  const late = (): void =>
    abort(new TimeoutError(`${what}: it did not come about within ${waitMs} ms; ${state}`, { indeterminate: false }));
  const timer = waitMs <= MAX_TIMER_MS ? clock.setTimer(waitMs, late) : undefined;
  try {
    return await body(aborter.signal, (seen) => {
      state = seen;
    });
  } finally {
    timer?.cancel();
    if (signal !== undefined) offAbort(signal, abort);
  }
}

/**
 * What was sent cannot be called back: when the signal aborts before `done` has settled, this rejects at once, and `undo` is called with
 * what has come of it.
 */
export function orUndone<T>(signal: AbortSignal, done: Promise<T>, undo: (value: T) => Promise<unknown>): Promise<T> {
  return new Promise((resolve, reject) => {
    let given = false;
    const abort = (reason: unknown): void => {
      given = true;
      reject(reason);
    };
    if (signal.aborted) abort(signal.reason);
    else onAbort(signal, abort);
    done
      .then((value) => {
        offAbort(signal, abort);
        if (!given) resolve(value);
        else return undo(value);
        return undefined;
      })
      .catch((error: unknown) => {
        offAbort(signal, abort);
        // Without effect where it was given up: nothing was made, or it goes with its session.
        reject(error);
      });
  });
}

/** Waits so long. Rejects with the signal's reason. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const abort = (reason: unknown): void => {
      timer.cancel();
      reject(reason);
    };
    const timer = clock.setTimer(delayMs, () => {
      if (signal !== undefined) offAbort(signal, abort);
      resolve();
    });
    if (signal !== undefined) onAbort(signal, abort);
  });
}
