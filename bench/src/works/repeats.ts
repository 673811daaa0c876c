/**
 * Measures again what other processes disturbed: so often each time, and so long in all, so that a machine that does not get quiet
 * makes figures that say so and no endless run.
 */

import type { RawWindow } from '../report/result-row.ts';

export interface RepeatLimits {
  /** Of one window or trial. */
  readonly each: number;
  /** What all repeats of a run may take together; one that has begun is ended. */
  readonly inAllMs: number;
}

export class Repeats {
  readonly #limits: RepeatLimits;
  readonly #nowMs: () => number;
  #spentMs = 0;

  constructor(limits: RepeatLimits, nowMs = (): number => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** The first undisturbed one, or the least disturbed of all. `repeating` hears what share of a core others took. */
  async quietest<T extends { readonly window: RawWindow }>(
    take: () => Promise<T>,
    repeating: (otherCores: number) => void = () => undefined,
  ): Promise<T> {
    let best = await take();
    for (let repeat = 0; best.window.disturbed && this.#mayRepeat(repeat); repeat += 1) {
      repeating(best.window.otherCores);
      const begunMs = this.#nowMs();
      const next = await take();
      this.#spentMs += this.#nowMs() - begunMs;
      if (next.window.otherCores < best.window.otherCores) best = next;
    }
    return best;
  }

  #mayRepeat(repeat: number): boolean {
    return repeat < this.#limits.each && this.#spentMs < this.#limits.inAllMs;
  }
}
