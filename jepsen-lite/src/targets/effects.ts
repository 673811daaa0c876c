/** Counts what took effect on an ensemble: each effect has its count, 0 for those that never did. */

import { ENSEMBLE_EFFECTS, type Effect } from '../nemeses/target.ts';

export class EffectCounts {
  readonly #counts = new Map<Effect, number>(ENSEMBLE_EFFECTS.map((effect) => [effect, 0]));

  get counts(): ReadonlyMap<Effect, number> {
    return this.#counts;
  }

  count(effect: Effect, times = 1): void {
    this.#counts.set(effect, (this.#counts.get(effect) ?? 0) + times);
  }
}
