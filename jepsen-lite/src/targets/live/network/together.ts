/** Does what is asked for one by one all at once, as soon as whoever asks is done asking: a partition is one change of the switch. */

import type { Done } from '../../../nemeses/target.ts';

export class Together<T> {
  readonly #act: (all: readonly T[]) => Done;
  #waiting: T[] = [];
  #done: Promise<void> | undefined;

  constructor(act: (all: readonly T[]) => Done) {
    this.#act = act;
  }

  /** Resolves when it was done; rejects with what doing it threw. */
  async add(one: T): Promise<void> {
    this.#waiting.push(one);
    this.#done ??= Promise.resolve().then(() => {
      const all = this.#waiting;
      this.#waiting = [];
      this.#done = undefined;
      return this.#act(all);
    });
    await this.#done;
  }
}
