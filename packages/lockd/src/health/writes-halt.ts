/** Once the servers disagree about the state and none has a majority, no write is accepted any more until an operator has restored one. */

import type { Logger } from '@holdfast/runtime';
import type { PeerHandlers, ServerPart } from '../machine/server-part.ts';

export class WritesHalt implements ServerPart {
  readonly memberMessages: PeerHandlers = { halted: (_from, { index }) => this.begin(index) };
  readonly #logger: Logger;
  readonly #began: () => void;
  #index = 0;

  /** `began` is called once. */
  constructor(logger: Logger, began: () => void) {
    this.#logger = logger;
    this.#began = began;
  }

  /** Where no majority had the same state; 0 while writes are accepted. */
  get index(): number {
    return this.#index;
  }

  get acceptsWrites(): boolean {
    return this.#index === 0;
  }

  begin(index: number): void {
    if (this.#index !== 0) return;
    this.#index = index;
    this.#logger.error({ index }, 'the servers disagree about the state and none has a majority; writes are refused');
    this.#began();
  }
}
