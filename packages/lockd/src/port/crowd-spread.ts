/**
 * Over what time clients should spread their first dials when they lose a server all at once: as long as the rest of the ensemble takes
 * to greet and attach that many. They are told when they are welcomed, and again when it has changed much, since they need it when
 * nobody is left to tell them.
 */

import { MAX_SPREAD_MS, SPREAD_PER_SESSION_MS } from '../limits.ts';

/** Changes by less than this factor, and below this time, are not worth a message to every client. */
const TOLD_AGAIN_FACTOR = 2;
const WORTH_TELLING_MS = 50;

export class CrowdSpread {
  readonly #sessions: () => number;
  #toldMs = WORTH_TELLING_MS;

  constructor(sessions: () => number) {
    this.#sessions = sessions;
  }

  get ms(): number {
    return Math.min(MAX_SPREAD_MS, Math.ceil(this.#sessions() * SPREAD_PER_SESSION_MS));
  }

  /** What connected clients were told last is far from what they should know. */
  get outdated(): boolean {
    const spreadMs = Math.max(WORTH_TELLING_MS, this.#sessions() * SPREAD_PER_SESSION_MS);
    if (spreadMs >= this.#toldMs) return spreadMs >= TOLD_AGAIN_FACTOR * this.#toldMs && this.#toldMs < MAX_SPREAD_MS;
    return spreadMs * TOLD_AGAIN_FACTOR * TOLD_AGAIN_FACTOR <= this.#toldMs;
  }

  /** The present value, for everybody. */
  tell(): number {
    const { ms } = this;
    this.#toldMs = Math.max(WORTH_TELLING_MS, ms);
    return ms;
  }
}
