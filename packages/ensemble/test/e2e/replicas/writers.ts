/** Clients that write to a group of replicas all the while, each one write after the other, and go on over what may be tried again. */

import { setTimeout as sleep } from 'node:timers/promises';

import { FencedKvError } from '@holdfast/fenced-kv-client';

/** Before the next try of a writer that was refused: the group may have no primary for a while. */
const AGAIN_MS = 50;
const LOOK_MS = 2;

export interface WritersOptions {
  /** @default 1 */
  readonly count?: number;
  /** Between two writes of a writer: replicas that begin, and commands under test, need the processor, too. @default 5 */
  readonly pauseMs?: number;
}

export class Writers {
  /** Writes that were acknowledged. */
  acknowledged = 0;
  /** The highest number of a write that was acknowledged. */
  last = 0;
  lastAcknowledgedMs = 0;
  /** Writes of which nobody knows whether they were done. */
  unknown = 0;
  /** Errors that no second try mends: the writer has gone on, and {@link Writers.more} no longer waits. */
  readonly failures: unknown[] = [];
  readonly #pauseMs: number;
  readonly #ended: Promise<unknown>;
  #stopped = false;

  /** `write`: numbers of a writer begin with 1, grow, and are not used again. */
  constructor(
    write: (number: number, writer: number) => Promise<void>,
    { count = 1, pauseMs = 5 }: WritersOptions = {},
  ) {
    this.#pauseMs = pauseMs;
    this.#ended = Promise.all(
      Array.from({ length: count }, async (_, writer) => {
        for (let number = 1; !this.#stopped; number += 1) await this.#one(() => write(number, writer), number);
      }),
    );
  }

  /** Resolves once so many more are acknowledged, or one has failed for good. */
  async more(count: number): Promise<void> {
    const enough = this.acknowledged + count;
    while (this.acknowledged < enough && this.failures.length === 0) await sleep(LOOK_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#ended;
  }

  async #one(write: () => Promise<void>, number: number): Promise<void> {
    try {
      await write();
      this.acknowledged += 1;
      this.last = Math.max(this.last, number);
      this.lastAcknowledgedMs = performance.now();
      await sleep(this.#pauseMs);
    } catch (error) {
      if (error instanceof FencedKvError && error.indeterminate) this.unknown += 1;
      else if (!(error instanceof FencedKvError && error.retryable)) this.failures.push(error);
      await sleep(AGAIN_MS);
    }
  }
}
