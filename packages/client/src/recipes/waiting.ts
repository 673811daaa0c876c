/** Pauses, and what is undone when nobody waits for it any more. */

import { offAbort, onAbort, type Clock } from '@holdfast/runtime';

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
