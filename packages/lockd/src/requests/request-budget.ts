/**
 * The bytes of unanswered requests of all clients of this server, and how they are shared. A connection may have twice as many as are left
 * of three quarters (dynamic thresholds, Choudhury and Hahne 1998): one that floods takes half of all at most, several share. The last quarter
 * is for those who ask for little. What all servers together may have fits into what the leader may have uncommitted, so that it never
 * refuses everybody for the sake of one.
 */

import { MAX_UNANSWERED_REQUEST_BYTES, MIN_UNANSWERED_REQUEST_BYTES } from '../limits.ts';

/** What a connection may have of what is left. */
const SHARE = 2;
/** Of all, what is not only for those who have little. */
const OPEN_TO_ALL = 3 / 4;
const LITTLE_BYTES = 16 * 1024;

export class RequestBudget {
  /** An estimate; see RequestWindow. */
  bytes = 0;
  #limit = MAX_UNANSWERED_REQUEST_BYTES;

  get limit(): number {
    return this.#limit;
  }

  /** Every server of the ensemble takes requests. Of more than seven they may have more together than a leader may: most serve few. */
  shareAmong(servers: number): void {
    const part = MAX_UNANSWERED_REQUEST_BYTES / Math.max(1, servers);
    this.#limit = Math.max(MIN_UNANSWERED_REQUEST_BYTES, part);
  }

  /** Whether a connection that has `own` of them may have as many as `more` in addition. */
  allows(own: number, more: number): boolean {
    const after = this.bytes + more;
    if (own + more <= SHARE * (OPEN_TO_ALL * this.#limit - after)) return true;
    return own + more <= LITTLE_BYTES && after <= this.#limit;
  }
}
