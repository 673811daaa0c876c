/** Removes keys whose time to live is over: they are absent to everybody already, and take room until then. */

import type { Clock, Logger, Timer } from '@holdfast/runtime';

import { EngineError } from './engines/engine-error.ts';
import type { FencedStore } from './fenced-store.ts';
import { EXPIRY_INTERVAL_MS, MAX_EXPIRIES_A_COMMIT } from './limits.ts';

export class ExpiryLoop {
  readonly #store: FencedStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(store: FencedStore, { clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
    this.#wait();
  }

  /** Resolves when nothing is being removed any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  #wait(): void {
    this.#timer = this.#clock.setTimer(EXPIRY_INTERVAL_MS, () => {
      this.#running = this.#run();
    });
  }

  async #run(): Promise<void> {
    try {
      // Others' writes come between two batches.
      while (!this.#stopped && (await this.#store.removeExpired()) === MAX_EXPIRIES_A_COMMIT);
    } catch (error) {
      // A failed disk ends the process by itself; what else it was may be over next time.
      const over = error instanceof EngineError && error.code !== 'OVERLOADED';
      if (!over) this.#logger.warn({ err: error }, 'expired keys could not be removed; trying again');
      if (over) return;
    }
    if (!this.#stopped) this.#wait();
  }
}
