/** The clocks and the event loop of this process. A pending timer keeps the process alive, as an open connection does. */

import type { Clock, Timer } from '../clock.ts';

/** Node fires a longer timeout after 1 ms. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

export function nodeClock(): Clock {
  return {
    monotonicMs: () => performance.now(),
    wallMs: () => Date.now(),
    setTimer,
    afterPoll,
  };
}

/** What is to run in the check phase of this turn. One immediate for all: a process with many connections asks for each of them in each turn. */
let afterPolls: (() => void)[] = [];

function afterPoll(callback: () => void): void {
  if (afterPolls.push(callback) === 1) setImmediate(runAfterPolls);
}

function runAfterPolls(): void {
  const callbacks = afterPolls;
  afterPolls = [];
  let at = 0;
  try {
    for (; at < callbacks.length; at += 1) callbacks[at]?.();
  } finally {
    // One has thrown: where the process goes on, the others do as well.
    if (at < callbacks.length) callbacks.slice(at + 1).forEach(afterPoll);
  }
}

function setTimer(delayMs: number, callback: () => void): Timer {
  if (Number.isNaN(delayMs)) throw new TypeError('the delay of a timer is NaN');
  const dueMs = performance.now() + delayMs;
  let timeout: NodeJS.Timeout;
  const arm = (remainingMs: number) => {
    // Node drops the fraction of a delay and counts from the beginning of the turn: it would fire early.
    timeout = setTimeout(fire, Math.min(Math.ceil(remainingMs), MAX_TIMEOUT_MS));
  };
  const fire = () => {
    const remainingMs = dueMs - performance.now();
    if (remainingMs > 0) arm(remainingMs);
    else callback();
  };
  arm(delayMs);
  return { cancel: () => clearTimeout(timeout) };
}
