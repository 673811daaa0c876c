/**
 * Many waits on one AbortSignal under one listener of that signal: a service gives its shutdown signal to all its calls, and Node
 * takes more than ten listeners for a leak. When nothing waits any more the signal has no listener of ours.
 */

type Callback = (reason: unknown) => void;

interface Waits {
  readonly callbacks: Set<Callback>;
  readonly listener: () => void;
}

const waitsOf = new WeakMap<AbortSignal, Waits>();

/** Calls `callback` once when the signal aborts, in the order of the calls; not for a signal that has aborted already. */
export function onAbort(signal: AbortSignal, callback: Callback): void {
  let waits = waitsOf.get(signal);
  if (waits === undefined) {
    waits = { callbacks: new Set(), listener: () => aborted(signal) };
    waitsOf.set(signal, waits);
    signal.addEventListener('abort', waits.listener, { once: true });
  }
  waits.callbacks.add(callback);
}

/** Takes back what {@link onAbort} was given; no error where it was called or taken back already. */
export function offAbort(signal: AbortSignal, callback: Callback): void {
  const waits = waitsOf.get(signal);
  if (waits === undefined || !waits.callbacks.delete(callback) || waits.callbacks.size > 0) return;
  waitsOf.delete(signal);
  signal.removeEventListener('abort', waits.listener);
}

function aborted(signal: AbortSignal): void {
  const waits = waitsOf.get(signal);
  const errors: unknown[] = [];
  // What a callback takes back is not called any more: the set is walked as it is.
  for (const callback of waits?.callbacks ?? []) {
    waits?.callbacks.delete(callback);
    try {
      callback(signal.reason);
    } catch (error) {
      errors.push(error);
    }
  }
  waitsOf.delete(signal);
  // Uncaught, as what any event listener throws.
  if (errors.length > 0) throw errors[0];
}
