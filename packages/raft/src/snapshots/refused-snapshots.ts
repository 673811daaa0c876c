/**
 * Whose snapshots the state machine has refused, and until when no other is taken from them: a leader whose state is not sound would
 * send it again at once, for ever.
 */

import type { ServerId } from '../core/index.ts';
import {
  MAX_REFUSED_SENDERS,
  REFUSED_SNAPSHOT_PAUSE_MAX_MS,
  REFUSED_SNAPSHOT_PAUSE_MIN_MS,
} from './snapshot-options.ts';

interface Pause {
  readonly ms: number;
  readonly untilMs: number;
}

export class RefusedSnapshots {
  readonly #pauses = new Map<ServerId, Pause>();

  /** Whether nothing is taken from the peer now. */
  pausing(peer: ServerId, nowMs: number): boolean {
    return nowMs < (this.#pauses.get(peer)?.untilMs ?? -Infinity);
  }

  /** Returns for how long nothing is taken from the peer. */
  refused(peer: ServerId, nowMs: number): number {
    const before = this.#pauses.get(peer)?.ms ?? 0;
    const ms = Math.min(REFUSED_SNAPSHOT_PAUSE_MAX_MS, Math.max(REFUSED_SNAPSHOT_PAUSE_MIN_MS, 2 * before));
    // As the newest: the oldest is the first that is forgotten.
    this.#pauses.delete(peer);
    this.#pauses.set(peer, { ms, untilMs: nowMs + ms });
    const [oldest] = this.#pauses.keys();
    if (this.#pauses.size > MAX_REFUSED_SENDERS && oldest !== undefined) this.#pauses.delete(oldest);
    return ms;
  }

  /** One of the peer's is sound. */
  taken(peer: ServerId): void {
    this.#pauses.delete(peer);
  }
}
