/** Clients that write again as soon as they are answered, in windows: one failure fails the measurement. */

import { setTimeout as sleep } from 'node:timers/promises';

import { ClosedLoops, type WindowResult } from '../generator/closed-loop.ts';
import type { Write } from './pair.ts';

/** What fails is not repeated at once, since nobody would look at it before the window ends. */
const AFTER_FAILURE_MS = 20;

export class WriteLoops {
  readonly #loops: ClosedLoops;
  #failure: Error | undefined;

  constructor(write: Write, clients: number) {
    this.#loops = new ClosedLoops(
      Array.from({ length: clients }, (_, client) => (timed: (begun: number) => void, done: () => void) => {
        void this.#run(write, client, timed).finally(done);
      }),
    );
  }

  async #run(write: Write, client: number, timed: (begun: number) => void): Promise<void> {
    const begun = performance.now();
    try {
      await write(client);
      timed(begun);
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error));
      await sleep(AFTER_FAILURE_MS);
    }
  }

  /** Rejects with what a write failed with. */
  async window(rampMs: number, windowMs: number): Promise<WindowResult> {
    const result = await this.#loops.window(rampMs, windowMs);
    if (this.#failure !== undefined) throw this.#failure;
    return result;
  }
}
