/** How often what is counted has happened, as one number. */

import { COUNTED, type Counted } from './bounds.ts';

const LARGEST = 2 ** 31;

export class Counters {
  readonly #most: Readonly<Partial<Record<Counted, number>>>;
  /** What one more of each adds to the number. */
  readonly #weights = new Map<Counted, number>();

  constructor(most: Readonly<Partial<Record<Counted, number>>>) {
    this.#most = most;
    let weight = 1;
    for (const counted of COUNTED) {
      this.#weights.set(counted, weight);
      weight *= (most[counted] ?? 0) + 1;
    }
    if (weight > LARGEST) throw new RangeError(`bounds of ${weight} ways to have used them up are too wide`);
  }

  weight(counted: Counted): number {
    return this.#weights.get(counted) ?? 0;
  }

  count(used: number, counted: Counted): number {
    return Math.floor(used / this.weight(counted)) % ((this.#most[counted] ?? 0) + 1);
  }

  left(used: number, counted: Counted): number {
    return (this.#most[counted] ?? 0) - this.count(used, counted);
  }
}
