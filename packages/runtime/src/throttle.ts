/**
 * Keeps work that may wait from crowding out what may not, on one event loop. After some of it the loop is left to everything else for
 * several times as long as it took; and of work that is counted in bytes no more goes than a rate allows, a token bucket of no depth.
 * Whose turn is next is up to who has the work.
 */

import type { Clock } from './clock.ts';

export interface ThrottleOptions {
  /** After work the loop is left without such work for so many times as long as it took. */
  readonly restFactor: number;
  /** But at most this long, so that a server that is busy with other things works, too. @default no limit */
  readonly maxRestMs?: number;
  /** @default no limit */
  readonly bytesPerSecond?: number;
}

export interface Urgency {
  isUrgent(): boolean;
  /** How often what waits asks. */
  readonly checkMs: number;
}

export class Throttle {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  readonly #restFactor: number;
  readonly #maxRestMs: number;
  readonly #bytesPerMs: number;
  /** Until then the loop rests. */
  #restedAtMs = -Infinity;
  /** When the rate lets bytes go that nobody has asked for yet. */
  #dueAtMs = -Infinity;

  constructor(options: ThrottleOptions, clock: Pick<Clock, 'monotonicMs' | 'setTimer'>) {
    this.#clock = clock;
    this.#restFactor = options.restFactor;
    this.#maxRestMs = options.maxRestMs ?? Infinity;
    this.#bytesPerMs = (options.bytesPerSecond ?? Infinity) / 1_000;
  }

  /** Until more may be done; 0: at once. */
  waitMs(): number {
    return Math.max(0, this.#freeAtMs - this.#clock.monotonicMs());
  }

  /** Some work has just ended that took the event loop so long. */
  worked(tookMs: number): void {
    const restMs = Math.min(this.#maxRestMs, this.#restFactor * tookMs);
    this.#restedAtMs = Math.max(this.#restedAtMs, this.#clock.monotonicMs() + restMs);
  }

  /** Does the work, and counts the time that it takes. */
  run(work: () => void): void {
    const begunMs = this.#clock.monotonicMs();
    work();
    this.worked(this.#clock.monotonicMs() - begunMs);
  }

  /**
   * Resolves when `bytes` may go, after those for which it was called before; or soon, once they are urgent. What goes before its time
   * takes none of the rate: nobody waits for it afterwards.
   */
  async take(bytes: number, urgency: Urgency): Promise<void> {
    const begunMs = this.#clock.monotonicMs();
    const atMs = Math.max(begunMs, this.#freeAtMs);
    const tookMs = bytes / this.#bytesPerMs;
    this.#dueAtMs = atMs + tookMs;
    for (let now = begunMs; now < atMs; now = this.#clock.monotonicMs()) {
      if (urgency.isUrgent()) {
        this.#dueAtMs -= tookMs;
        return;
      }
      const waitMs = Math.min(atMs - now, urgency.checkMs);
      await new Promise<void>((resolve) => this.#clock.setTimer(waitMs, resolve));
    }
  }

  get #freeAtMs(): number {
    return Math.max(this.#restedAtMs, this.#dueAtMs);
  }
}
