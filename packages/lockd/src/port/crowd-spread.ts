/**
 * Over what time clients should spread their first dials when they lose a server all at once: as long as the rest of the ensemble takes
 * to greet and attach that many. They are sent it when they are welcomed, and again when it has changed much, since they need it when
 * nobody is left to send it.
 */

import { MAX_SPREAD_MS, SPREAD_PER_SESSION_MS } from '../limits.ts';

/** Changes by less than this factor, and below this time, are not worth a message to every client. */
const RESEND_FACTOR = 2;
const WORTH_SENDING_MS = 50;

export class CrowdSpread {
  readonly #sessions: () => number;
  #sentMs = WORTH_SENDING_MS;

  constructor(sessions: () => number) {
    this.#sessions = sessions;
  }

  get ms(): number {
    return Math.min(MAX_SPREAD_MS, Math.ceil(this.#sessions() * SPREAD_PER_SESSION_MS));
  }

  /** What connected clients were sent last is far from what they should know. */
  get outdated(): boolean {
    const spreadMs = Math.max(WORTH_SENDING_MS, this.#sessions() * SPREAD_PER_SESSION_MS);
    if (spreadMs >= this.#sentMs) return spreadMs >= RESEND_FACTOR * this.#sentMs && this.#sentMs < MAX_SPREAD_MS;
    return spreadMs * RESEND_FACTOR * RESEND_FACTOR <= this.#sentMs;
  }

  /** The present value, for everybody. */
  announce(): number {
    const { ms } = this;
    this.#sentMs = Math.max(WORTH_SENDING_MS, ms);
    return ms;
  }
}
