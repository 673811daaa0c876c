/** A clock that a test moves by hand, with a check phase that the test runs. */

import type { Clock, Timer } from '@holdfast/runtime';

interface Pending {
  readonly dueMs: number;
  readonly callback: () => void;
}

export class ManualClock implements Clock {
  nowMs = 1_000;
  wallOffsetMs = 1_700_000_000_000;
  #timers: Pending[] = [];
  #checks: (() => void)[] = [];

  monotonicMs(): number {
    return this.nowMs;
  }

  wallMs(): number {
    return this.nowMs + this.wallOffsetMs;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const pending = { dueMs: this.nowMs + delayMs, callback };
    this.#timers.push(pending);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((timer) => timer !== pending);
      },
    };
  }

  afterPoll(callback: () => void): void {
    this.#checks.push(callback);
  }

  /** The event loop stands still: time passes, nothing runs. */
  stall(ms: number): void {
    this.nowMs += ms;
  }

  /** Runs due timers once, in order of their times, as the event loop does before it reads sockets. */
  runTimers(): void {
    const due = this.#timers.filter((timer) => timer.dueMs <= this.nowMs).toSorted((a, b) => a.dueMs - b.dueMs);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const timer of due) timer.callback();
  }

  /** Runs check phases until none is asked for. */
  runChecks(): void {
    for (let turn = 0; this.#checks.length > 0; turn += 1) {
      if (turn > 1_000) throw new Error('the event loop never comes to rest');
      const checks = this.#checks;
      this.#checks = [];
      for (const check of checks) check();
    }
  }

  /** Lets time pass without stalls: every timer fires at its time. */
  advance(ms: number): void {
    const end = this.nowMs + ms;
    this.runChecks();
    for (;;) {
      const next = Math.min(...this.#timers.map((timer) => timer.dueMs));
      if (next > end) break;
      this.nowMs = Math.max(this.nowMs, next);
      this.runTimers();
      this.runChecks();
    }
    this.nowMs = end;
  }
}
