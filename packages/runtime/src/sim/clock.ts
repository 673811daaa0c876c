/** The clocks of one simulated process: a monotonic one with an origin of its own, and the machine's wall clock. */

import type { Clock, Timer } from '../clock.ts';
import type { MachineClock } from './machine-clock.ts';
import type { Scheduled, SimProcess } from './process.ts';
import { toMs, toTicks } from './scheduler.ts';

/** As in Node, where `setTimeout(0)` waits a millisecond. */
const MIN_TIMER_MS = 1;

class PendingTimer implements Timer {
  readonly dueMs: number;
  readonly callback: () => void;
  readonly #pending: Set<PendingTimer>;
  scheduled: Scheduled | undefined;

  constructor(dueMs: number, callback: () => void, pending: Set<PendingTimer>) {
    this.dueMs = dueMs;
    this.callback = callback;
    this.#pending = pending;
  }

  cancel(): void {
    this.#pending.delete(this);
    this.scheduled?.cancel();
  }
}

export class SimClock implements Clock {
  readonly #process: SimProcess;
  readonly #machine: MachineClock;
  readonly #pending = new Set<PendingTimer>();
  #rate: number;
  #baseTicks: number;
  #baseMs: number;

  constructor(process: SimProcess, machine: MachineClock, originMs: number) {
    this.#process = process;
    this.#machine = machine;
    this.#rate = machine.monotonicRate;
    this.#baseTicks = process.scheduler.nowTicks;
    this.#baseMs = originMs;
  }

  monotonicMs(): number {
    this.#machine.monotonicSeen();
    return this.#nowMs();
  }

  wallMs(): number {
    return this.#machine.readWallMs();
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    if (Number.isNaN(delayMs)) throw new TypeError('the delay of a timer is NaN');
    const timer = new PendingTimer(this.#nowMs() + Math.max(MIN_TIMER_MS, delayMs), callback, this.#pending);
    if (!this.#process.alive || delayMs === Infinity) return timer;
    this.#pending.add(timer);
    this.#arm(timer);
    return timer;
  }

  afterPoll(callback: () => void): void {
    this.#process.schedule(0, 'check', 'after-poll', callback);
  }

  /** Takes over the machine's new rate; pending timers keep the moment that the monotonic clock must show. */
  rateChanged(): void {
    this.#baseMs = this.#nowMs();
    this.#baseTicks = this.#process.scheduler.nowTicks;
    this.#rate = this.#machine.monotonicRate;
    for (const timer of this.#pending) {
      timer.scheduled?.cancel();
      this.#arm(timer);
    }
  }

  #nowMs(): number {
    return this.#baseMs + toMs(this.#process.scheduler.nowTicks - this.#baseTicks) * this.#rate;
  }

  #arm(timer: PendingTimer): void {
    const delayTicks = toTicks((timer.dueMs - this.#nowMs()) / this.#rate);
    timer.scheduled = this.#process.schedule(Math.max(0, delayTicks), 'timer', 'timer', () => {
      // Dividing by the rate rounds: a timer must never be early.
      if (this.#nowMs() < timer.dueMs) return this.#armLater(timer);
      this.#fire(timer);
    });
  }

  #armLater(timer: PendingTimer): void {
    timer.scheduled?.cancel();
    const delayTicks = Math.max(1, toTicks((timer.dueMs - this.#nowMs()) / this.#rate));
    timer.scheduled = this.#process.schedule(delayTicks, 'timer', 'timer', () => this.#fire(timer));
  }

  #fire(timer: PendingTimer): void {
    this.#pending.delete(timer);
    this.#machine.monotonicSeen();
    timer.callback();
  }
}
