/**
 * The clock hardware of a machine; it outlives the processes. A wall clock that may be set and a rate for each clock, each a
 * fault that has struck once a process looks at the clock.
 */

import { toMs } from './scheduler.ts';
import type { Scheduler } from './scheduler.ts';
import type { Struck } from './struck.ts';

export class MachineClock {
  readonly #scheduler: Scheduler;
  readonly #struck: Struck;
  #wallBaseMs: number;
  #wallBaseTicks: number;
  #wallRate = 1;
  #monotonicRate = 1;
  #jumpsUnseen = 0;
  #wallRateUnseen = false;
  #monotonicRateUnseen = false;

  constructor(scheduler: Scheduler, struck: Struck, wallMs: number) {
    this.#scheduler = scheduler;
    this.#struck = struck;
    this.#wallBaseMs = wallMs;
    this.#wallBaseTicks = scheduler.nowTicks;
  }

  get monotonicRate(): number {
    return this.#monotonicRate;
  }

  /** Of the monotonic clock; the process's clock has to be told. */
  setMonotonicRate(rate: number): void {
    checkRate(rate);
    this.#monotonicRate = rate;
    this.#monotonicRateUnseen = rate !== 1;
  }

  setWallRate(rate: number): void {
    checkRate(rate);
    this.#wallBaseMs = this.#wallMs();
    this.#wallBaseTicks = this.#scheduler.nowTicks;
    this.#wallRate = rate;
    this.#wallRateUnseen = rate !== 1;
  }

  jumpWall(byMs: number): void {
    if (!Number.isFinite(byMs)) throw new RangeError(`a wall clock cannot jump by ${byMs} ms`);
    this.#wallBaseMs += byMs;
    this.#jumpsUnseen += 1;
  }

  /** What a process reads. */
  readWallMs(): number {
    if (this.#jumpsUnseen > 0) this.#struck.count('wall-jump', this.#jumpsUnseen);
    this.#jumpsUnseen = 0;
    if (this.#wallRateUnseen) this.#struck.count('clock-rate');
    this.#wallRateUnseen = false;
    return Math.floor(this.#wallMs());
  }

  /** A process has read the monotonic clock, or a timer of it has fired. */
  monotonicSeen(): void {
    if (this.#monotonicRateUnseen) this.#struck.count('clock-rate');
    this.#monotonicRateUnseen = false;
  }

  #wallMs(): number {
    return this.#wallBaseMs + toMs(this.#scheduler.nowTicks - this.#wallBaseTicks) * this.#wallRate;
  }
}

function checkRate(rate: number): void {
  if (!(rate > 0 && rate < Infinity))
    throw new RangeError(`the rate of a clock must be positive and finite, not ${rate}`);
}
