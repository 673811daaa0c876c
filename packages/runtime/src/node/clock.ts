/** The clocks and the event loop of this process. */

import type { Clock } from '../index.ts';

export function nodeClock(): Clock {
  return {
    monotonicMs: () => performance.now(),
    wallMs: () => Date.now(),
    setTimer(delayMs, callback) {
      const timer = setTimeout(callback, delayMs);
      return { cancel: () => clearTimeout(timer) };
    },
    afterPoll(callback) {
      setImmediate(callback);
    },
  };
}
