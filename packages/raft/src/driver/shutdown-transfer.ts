/** A server that stops waits for its transfer to end, and then until it has heard of its successor; not for long. */

import type { Clock } from '@holdfast/runtime';
import type { TransferCallback } from './pending-calls.ts';

/** How long both together may take. */
const SHUTDOWN_TRANSFER_WAIT_MS = 3_000;

export class ShutdownTransfer {
  readonly #clock: Clock;
  #leaderKnown: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async run(transfer: (ended: TransferCallback) => void): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#leaderKnown = undefined;
        resolve();
      };
      const timer = this.#clock.setTimer(SHUTDOWN_TRANSFER_WAIT_MS, done);
      transfer(({ outcome }) => {
        if (outcome !== 'transferred' && outcome !== 'lost-leadership') done();
        else this.#leaderKnown = done;
      });
    });
  }

  /** Another server leads, or nothing more will be heard. */
  end(): void {
    this.#leaderKnown?.();
  }
}
