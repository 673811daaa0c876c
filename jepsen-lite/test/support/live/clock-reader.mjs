// Prints its clocks, how late its timers are by them, and the machine's true time, every 50 ms of its own time.

import { readFileSync } from 'node:fs';

const EVERY_MS = 50;
/** Looks at the clocks that lie further apart do not belong together. */
const TOGETHER_MS = 20;

/** Since the machine was started, in steps of 10 ms. A file, so that it is true whatever clocks are faked. */
function uptimeMs() {
  return 1_000 * Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
}

function look() {
  for (;;) {
    const before = uptimeMs();
    const clocks = { wallMs: Date.now(), monotonicMs: performance.now() };
    const after = uptimeMs();
    if (after - before <= TOGETHER_MS) return { ...clocks, uptimeMs: (before + after) / 2 };
  }
}

let due = performance.now() + EVERY_MS;
setInterval(() => {
  const clocks = look();
  process.stdout.write(`${JSON.stringify({ ...clocks, lateMs: clocks.monotonicMs - due })}\n`);
  due = clocks.monotonicMs + EVERY_MS;
}, EVERY_MS);
