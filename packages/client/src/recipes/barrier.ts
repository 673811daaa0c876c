/** Holds back whoever waits at it while it is closed. It stays closed when its client goes; one that was never closed is open. */

import type { Present } from '../incarnations/incarnation.ts';
import type { CallOptions } from '../session/call.ts';
import { follow } from './follow.ts';
import { createBelow, recipePath, unlessGone, unlessThere } from './recipe-tree.ts';
import { checkWaitOptions, withinLimits, type WaitOptions } from './waiting.ts';

/**
 * A barrier that holds back whoever waits at it while it is closed. Made by `client.barrier`.
 *
 * @example
 * const barrier = client.barrier('maintenance');
 * await barrier.wait(); // at once while it is open
 */
export class Barrier {
  readonly name: string;
  readonly #present: Present;
  readonly #path: string;

  /** @internal */
  constructor(name: string, present: Present) {
    this.name = name;
    this.#path = recipePath('barriers', name);
    this.#present = present;
  }

  /** Without effect where it is closed. */
  async close(options: CallOptions = {}): Promise<void> {
    await unlessThere(createBelow(this.#present().nodes, this.#path, '', options));
  }

  /** Lets everybody pass, and leaves nothing. Without effect where it is open. */
  async open(options: CallOptions = {}): Promise<void> {
    await unlessGone(this.#present().nodes.delete(this.#path, options));
  }

  async isClosed(options: CallOptions = {}): Promise<boolean> {
    return (await this.#present().nodes.exists(this.#path, options)) !== undefined;
  }

  /** Until it is open. */
  async wait(options: WaitOptions = {}): Promise<void> {
    checkWaitOptions('wait', options);
    const { clock } = this.#present().session;
    await withinLimits(clock, `barrier "${this.name}"`, options, async (signal, seen) => {
      const nodes = follow(this.#present, this.#path, (each, how) => each.exists(this.#path, how), signal);
      for await (const closed of nodes) {
        if (closed === undefined) return;
        seen('it is closed');
      }
    });
  }
}
