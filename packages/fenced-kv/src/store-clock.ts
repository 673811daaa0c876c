/**
 * The clock that times to live count by: the wall time at which the store was opened, and from there on the monotonic clock. A jump of the
 * wall clock while the store runs changes nothing. Over a restart the wall clock counts, but never back behind a time that the store has
 * written down: what has expired stays so.
 */

import type { Clock } from '@holdfast/runtime';

import type { Engine } from './engines/engine.ts';
import { CLOCK_KEY, decodeTime } from './keyspace.ts';

export class StoreClock {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #offsetMs: number;

  private constructor(clock: Pick<Clock, 'monotonicMs' | 'wallMs'>, writtenDownMs: number) {
    this.#clock = clock;
    this.#offsetMs = Math.max(clock.wallMs(), writtenDownMs) - clock.monotonicMs();
  }

  static open(engine: Engine, clock: Pick<Clock, 'monotonicMs' | 'wallMs'>): StoreClock {
    const stored = engine.read((reader) => reader.get(CLOCK_KEY));
    return new StoreClock(clock, stored === undefined ? 0 : decodeTime(stored));
  }

  /** Whole milliseconds since the Unix epoch, as far as the clock was right when the store was opened. */
  nowMs(): number {
    return Math.max(0, Math.floor(this.#offsetMs + this.#clock.monotonicMs()));
  }
}
