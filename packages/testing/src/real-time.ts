/**
 * Real time, which the twin's clock keeps pace with. The functions are those that there were when this was loaded: a test runner that
 * fakes timers later does not stop the twin.
 */

/* oxlint-disable no-restricted-globals -- the edge of this package to the real world */

const { performance, setTimeout, clearTimeout, setImmediate, clearImmediate } = globalThis;

export function realNowMs(): number {
  return performance.now();
}

export interface RealTimer {
  cancel(): void;
}

/** Keeps the process alive, as a connection to a server does. */
export function realTimer(delayMs: number, callback: () => void): RealTimer {
  if (delayMs <= 0) {
    const next = setImmediate(callback);
    return { cancel: () => clearImmediate(next) };
  }
  const timer = setTimeout(callback, delayMs);
  return { cancel: () => clearTimeout(timer) };
}
