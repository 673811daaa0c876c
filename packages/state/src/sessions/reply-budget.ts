/**
 * What the reply caches of all sessions take together, and how much one of them may take. A session's share is a part of what is still free
 * (a dynamic threshold, as switches share their buffers by): the more is kept, the less each may keep, so those are refused that keep
 * most, a newcomer has its least at any time, and a session alone in the ensemble has its full bound.
 */

export interface ReplyLimits {
  readonly leastReplyBytesPerSession: number;
  readonly maxReplyBytesPerSession: number;
  readonly maxReplyBytes: number;
}

/** A session may keep up to one so-many-th of what is free. */
const SHARES = 16;

export class ReplyBudget {
  #limits: ReplyLimits;
  #bytes = 0;

  constructor(limits: ReplyLimits) {
    this.#limits = limits;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whoever keeps as much may keep no more. */
  get share(): number {
    const { maxReplyBytes, maxReplyBytesPerSession, leastReplyBytesPerSession } = this.#limits;
    const share = Math.floor((maxReplyBytes - this.#bytes) / SHARES);
    return Math.max(leastReplyBytesPerSession, Math.min(maxReplyBytesPerSession, share));
  }

  /** What a session that keeps so many bytes, and may keep more, may add to them at once. */
  room(kept: number): number {
    return Math.max(this.share - kept, this.#limits.leastReplyBytesPerSession);
  }

  /** These hold from now on; what is kept beyond them is kept until it is acknowledged. */
  limit(limits: ReplyLimits): void {
    this.#limits = limits;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }
}
