/**
 * Virtual time. Runs one event after another, lets every promise that an event settled run to its end before the next
 * one, and never waits for real time. What it leaves to others: hosts, links and disks schedule their events here.
 *
 * A tick is 1/1024 ms: times are sums of powers of two, so that adding and subtracting them is exact.
 */

import { EventQueue } from './event-queue.ts';
import type { SimEvent, Work } from './event-queue.ts';
import { inNextTurn, promiseDrain } from './real-loop.ts';
import { trapRejections } from './rejection-trap.ts';
import type { RejectionTrap } from './rejection-trap.ts';
import { Trace } from './trace.ts';
import type { EventKind } from './trace.ts';
import { Traps } from './traps.ts';

const TICKS_PER_MS = 1_024;

const DEFAULT_MAX_EVENTS_PER_INSTANT = 100_000;

/**
 * After so many events, about a fifth of a second of work, the real event loop gets a turn, so that signals and the timers of a
 * test runner live. Not more often: arming and disarming the traps costs as much as hundreds of events.
 */
const EVENTS_PER_TURN = 30_000;

/** Of an open world: what its application awaits of the real one should not fall far behind, and there is nothing to arm. */
const OPEN_EVENTS_PER_TURN = 500;

/** @default of `maxMs` */
const DEFAULT_MAX_MS = 60_000;

export const toTicks = (ms: number): number => Math.ceil(ms * TICKS_PER_MS);
export const toMs = (ticks: number): number => ticks / TICKS_PER_MS;

export interface RunOptions {
  /** Runs until virtual time is this, everything due then included. */
  readonly untilMs?: number;
  /** Runs for this much virtual time. */
  readonly forMs?: number;
  /** Runs until this holds; asked before the first event and after each. */
  readonly until?: () => boolean;
  /**
   * With `until`: rejects with {@link SimTimeoutError} when this much virtual time has passed without it.
   * @default 60_000
   */
  readonly maxMs?: number;
  /**
   * More events than this at one instant are taken for a loop without delay.
   * @default 100_000
   */
  readonly maxEventsPerInstant?: number;
}

/** The condition that `run` was to wait for did not come about. */
export class SimTimeoutError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SimTimeoutError';
  }
}

interface Turn {
  readonly options: RunOptions;
  readonly limitTicks: number;
  /** Undefined in an open world. */
  readonly trap: RejectionTrap | undefined;
  /** Undefined: promises settle between two turns, and each has one event. */
  readonly drain: (() => void) | undefined;
}

export class Scheduler {
  readonly #queue = new EventQueue();
  readonly #trace = new Trace();
  /** Undefined in an open world. */
  readonly #traps: Traps | undefined;
  readonly #scheduled: () => void;
  #nowTicks = 0;
  #sequence = 0;
  #running = false;
  #eventsThisInstant = 0;

  /**
   * `open`: code of the real world runs among the programs', and may do as it likes. `scheduled` is called when an event is added while
   * nothing runs.
   */
  constructor({ open, scheduled }: { readonly open: boolean; readonly scheduled: () => void }) {
    this.#traps = open ? undefined : Traps.ofThread();
    this.#scheduled = scheduled;
  }

  get nowTicks(): number {
    return this.#nowTicks;
  }

  /** When the next event is due; undefined when nothing is left to happen. */
  get nextTicks(): number | undefined {
    return this.#queue.peek()?.timeTicks;
  }

  get traceHash(): string {
    return this.#trace.hash;
  }

  schedule(delayTicks: number, kind: EventKind, work: Work): SimEvent {
    this.#sequence += 1;
    const timeTicks = this.#nowTicks + Math.max(0, delayTicks);
    const event = { timeTicks, sequence: this.#sequence, kind, work, cancelled: false };
    if (timeTicks === this.#nowTicks) this.#queue.pushPresent(event);
    else this.#queue.push(event);
    if (!this.#running) this.#scheduled();
    return event;
  }

  /** Takes what a program sends or writes into the trace, but in an open world, of which no two runs are alike. */
  recordBytes(bytes: Uint8Array): void {
    if (this.#traps !== undefined) this.#trace.recordBytes(bytes);
  }

  cancel(event: SimEvent): void {
    this.#queue.cancel(event);
  }

  /** Rejects with the first error that a callback throws or a promise leaves unhandled. */
  async run(options: RunOptions): Promise<void> {
    if (this.#running) throw new Error('the world is running already; schedule work in it, do not call run inside run');
    const trap = this.#traps === undefined ? undefined : trapRejections();
    const turn: Turn = { options, limitTicks: this.#limitOf(options), trap, drain: promiseDrain() };
    this.#running = true;
    try {
      while (!(await inNextTurn(() => this.#runTurn(turn))));
      turn.trap?.check();
    } catch (error) {
      // What else the failed event has left to settle must not fail whoever runs next.
      await inNextTurn(() => {});
      throw error;
    } finally {
      this.#running = false;
      turn.trap?.release();
    }
  }

  /** Events within one turn of the real loop; true when the run is over. */
  #runTurn(turn: Turn): boolean {
    this.#traps?.arm();
    try {
      return this.#runEvents(turn);
    } catch (error) {
      this.#traps?.check();
      throw error;
    } finally {
      this.#traps?.disarm();
    }
  }

  #runEvents({ options, limitTicks, trap, drain }: Turn): boolean {
    const maxEventsPerInstant = options.maxEventsPerInstant ?? DEFAULT_MAX_EVENTS_PER_INSTANT;
    const eventsPerTurn = this.#traps === undefined ? OPEN_EVENTS_PER_TURN : EVENTS_PER_TURN;
    trap?.check();
    for (let left = drain === undefined ? 1 : eventsPerTurn; left > 0; left -= 1) {
      if (options.until?.() === true) return true;
      const event = this.#queue.peek();
      if (event === undefined || event.timeTicks > limitTicks) {
        this.#stopAt(limitTicks, options, event === undefined);
        return true;
      }
      this.#queue.pop();
      this.#step(event, maxEventsPerInstant);
      drain?.();
      this.#traps?.check();
      trap?.check();
    }
    return false;
  }

  #limitOf(options: RunOptions): number {
    const limits = [
      options.untilMs === undefined ? Infinity : toTicks(options.untilMs),
      options.forMs === undefined ? Infinity : this.#nowTicks + toTicks(options.forMs),
      options.until === undefined ? Infinity : this.#nowTicks + toTicks(options.maxMs ?? DEFAULT_MAX_MS),
    ];
    const limit = Math.min(...limits);
    if (!Number.isFinite(limit)) throw new TypeError('run needs untilMs, forMs or until, or it might never end');
    return limit;
  }

  #step(event: SimEvent, maxEventsPerInstant: number): void {
    this.#eventsThisInstant = event.timeTicks === this.#nowTicks ? this.#eventsThisInstant + 1 : 0;
    if (this.#eventsThisInstant > maxEventsPerInstant) {
      throw new Error(
        `virtual time stands still at ${toMs(this.#nowTicks)} ms: a callback schedules itself again without delay (last event: ${event.kind.text})`,
      );
    }
    this.#nowTicks = event.timeTicks;
    this.#trace.record(event.timeTicks, event.sequence, event.kind);
    event.work.run();
  }

  #stopAt(limitTicks: number, options: RunOptions, idle: boolean): void {
    const stoppedAtMs = toMs(this.#nowTicks);
    this.#nowTicks = Math.max(this.#nowTicks, limitTicks);
    if (options.until === undefined) return;
    throw new SimTimeoutError(
      idle
        ? `the condition does not hold and after ${stoppedAtMs} ms nothing is left to happen: ${String(options.until)}`
        : `the condition does not hold at ${toMs(this.#nowTicks)} ms of virtual time: ${String(options.until)}`,
    );
  }
}
