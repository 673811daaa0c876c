/**
 * The clocks of one process at a time, by libfaketime: what it is started with, and how they are changed while it runs. The clocks of the
 * machine and of every other process stay as they are. A process is started for one of two kinds, since libfaketime has one offset and
 * one rate for all clocks of a process:
 *
 * - `wall`: the wall clock jumps and drifts, from when the process looks at it next; the monotonic clock, and with it every timer, stays
 *   right
 * - `both`: all clocks drift together, as those of a machine with a bad crystal do, and timers with them; none can jump
 *
 * Each look at a clock costs such a process about 10 µs.
 */

import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import type { StruckFault } from '@holdfast/runtime/sim';
import type { CLOCK_KINDS } from '../../../nemeses/target.ts';
import { aheadMs, atRate, carriedOver, jumped, renderFaking, TRUE_TIME, type Faking } from './faketime-file.ts';
import { beganMs, fakeClockProblem, forget, forgetTheDead, libfaketimePath } from './libfaketime.ts';

export type ClockKind = (typeof CLOCK_KINDS)[number];
export type FakedClocks = 'wall' | 'both';

export interface FakeClockOptions {
  /** Of this clock's file, made when it is missing. Its file system must keep access times, if only relatime's. */
  readonly directory: string;
  readonly name: string;
  readonly clocks: FakedClocks;
  /** Told when the process was seen to read a change: `wall-jump`, `clock-rate`. */
  readonly struck?: (effect: StruckFault) => void;
}

class ClockError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ClockError';
  }
}

const BEGIN_LIMIT_MS = 10_000;
const AGAIN_MS = 5;
/** How often it is looked whether a change was read. */
const LOOK_AGAIN_MS = 20;
/** Between our look at the clock and the process's first at the new rate. A monotonic clock must not go back meanwhile. */
const SETTLING_MS = 20;

export class FakeClock {
  readonly clocks: FakedClocks;
  readonly #file: string;
  readonly #struck: (effect: StruckFault) => void;
  #pid: number | undefined;
  #faking: Faking = { beganMs: Date.now(), ...TRUE_TIME };
  /** What strikes as soon as the file is read. */
  #unread: StruckFault | undefined;
  #watching: NodeJS.Timeout | undefined;

  constructor({ directory, name, clocks, struck = () => undefined }: FakeClockOptions) {
    this.clocks = clocks;
    this.#file = join(directory, `${name}.faketime`);
    this.#struck = struck;
    mkdirSync(directory, { recursive: true });
    forgetTheDead();
    this.#write();
  }

  /** Why no clock can be faked on this machine; undefined where it can. Tries it. */
  static problem(): string | undefined {
    return fakeClockProblem();
  }

  /** How far the process's wall clock is ahead of the machine's now, in milliseconds. */
  get aheadMs(): number {
    return aheadMs(this.#faking, Date.now());
  }

  /**
   * What a process must be started with, beside its own environment. Asked anew for each start: its clock goes on where the last one's
   * is. Tell of it with `started`.
   * @throws ClockError when libfaketime is not installed
   */
  environment(): Readonly<Record<string, string>> {
    const library = libfaketimePath();
    if (library === undefined) throw new ClockError(`no clock can be faked here: ${FakeClock.problem()}`);
    this.#forgetProcess();
    this.#faking = carriedOver(this.#faking, Date.now());
    this.#write();
    return {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_DONT_FAKE_MONOTONIC: this.clocks === 'wall' ? '1' : '0',
      // It reads the file at each look at a clock. Read once a second, a new rate would count from before it was read: a jump, maybe back.
      FAKETIME_NO_CACHE: '1',
      // The times of files are no clocks. And a process that a signal ends asks for its files' state in the signal handler, where what libfaketime
      // would do to that is not allowed: it hung or aborted when it was in the middle of an allocation.
      NO_FAKE_STAT: '1',
    };
  }

  /** The process that was started so. Resolves when libfaketime has begun in it. @throws ClockError when it has not */
  async started(pid: number): Promise<void> {
    this.#pid = pid;
    const end = performance.now() + BEGIN_LIMIT_MS;
    let began = beganMs(pid);
    while (began === undefined) {
      if (performance.now() > end) throw new ClockError(`libfaketime has not begun in process ${pid}`);
      await delay(AGAIN_MS);
      began = beganMs(pid);
    }
    this.#faking = { ...this.#faking, beganMs: began };
  }

  /**
   * The wall clock jumps, back when it is negative, once the process looks at it next. Strikes `wall-jump`.
   * @throws ClockError unless it was started for `wall`
   */
  jumpWall(byMs: number): void {
    if (this.clocks !== 'wall') throw new ClockError('all clocks of this process would jump');
    this.#change(jumped(this.#faking, byMs), 'wall-jump');
  }

  /**
   * Seconds of that clock pass so many times as fast; 1 is as fast as time. It does not jump, but for microseconds ahead. Strikes `clock-rate`, unless the rate is 1.
   *
   * - of `wall`: timers go by the monotonic clock, which stays right. At a rate below 1 they may be late, by a factor of 1/rate at most,
   *   since libfaketime scales how long Node sleeps all the same.
   * - of `both`: timers fire when the process's own clocks say so, but for those of less than some milliseconds, since what is scaled is
   *   whole milliseconds.
   *
   * @throws ClockError unless it was started for that: `monotonic` needs `both`, and takes the wall clock along
   */
  setRate(clock: ClockKind, rate: number): void {
    if (!this.can(clock)) throw new ClockError(`this process was not started for another rate of its ${clock} clock`);
    // Slower from a little later on, faster from a little earlier on: ahead by some microseconds, never back.
    const settlingMs = Math.sign(this.#faking.rate - rate) * SETTLING_MS;
    this.#change(atRate(this.#faking, rate, Date.now() + settlingMs), rate === 1 ? undefined : 'clock-rate');
  }

  /** Whether `setRate` of this clock is possible. */
  can(clock: ClockKind): boolean {
    return (clock === 'wall') === (this.clocks === 'wall');
  }

  /**
   * The wall clock jumps ahead and back again and again. Resolves when it is over, and the clock as it was.
   * @param signal ends it early
   * @throws ClockError unless it was started for `wall`
   */
  async strobe(byMs: number, periodMs: number, forMs: number, signal?: AbortSignal): Promise<void> {
    const end = performance.now() + forMs;
    for (let ahead = false; (performance.now() < end && signal?.aborted !== true) || ahead; ahead = !ahead) {
      this.jumpWall(ahead ? -byMs : byMs);
      await delay(periodMs / 2, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    }
  }

  /** As the machine's clocks are; all of them may jump by that. */
  reset(): void {
    this.#change({ ...this.#faking, ...TRUE_TIME }, undefined);
  }

  /** The process has ended. */
  close(): void {
    this.#look();
    this.#stopWatching();
    this.#forgetProcess();
    rmSync(this.#file, { force: true });
  }

  #change(faking: Faking, effect: StruckFault | undefined): void {
    this.#look();
    this.#faking = faking;
    this.#write();
    if (effect === undefined) return;
    this.#unread = effect;
    this.#watching = setInterval(() => this.#look(), LOOK_AGAIN_MS);
    this.#watching.unref();
  }

  /** At once as a whole: a process that reads half a line would take it for another time. */
  #write(): void {
    this.#stopWatching();
    writeFileSync(`${this.#file}.new`, renderFaking(this.#faking));
    renameSync(`${this.#file}.new`, this.#file);
  }

  #look(): void {
    if (this.#unread === undefined || !this.#wasRead()) return;
    this.#struck(this.#unread);
    this.#stopWatching();
  }

  #stopWatching(): void {
    clearInterval(this.#watching);
    this.#unread = undefined;
  }

  /** Who reads a file for the first time since it was written changes its access time, even where that is kept for such reads alone. */
  #wasRead(): boolean {
    const stat = statSync(this.#file, { bigint: true, throwIfNoEntry: false });
    return stat !== undefined && stat.atimeNs > stat.mtimeNs;
  }

  #forgetProcess(): void {
    if (this.#pid !== undefined) forget(this.#pid);
    this.#pid = undefined;
  }
}
