/**
 * Keeps the session renewed: a heartbeat when nothing else has renewed it for a third of its timeout. Writes renew it as well, so a
 * session that works sends none.
 */

import type { Clock } from '@holdfast/runtime';
import { LazyTimer } from '../lazy-timer.ts';
import type { Instant, Lease } from './lease.ts';
import type { Sink } from './channels/pipeline.ts';

/** A heartbeat may be lost when the leader changes; the next follows sooner than the first. */
const MAX_RETRY_MS = 1_000;

export class Heartbeats {
  readonly #clock: Clock;
  readonly #lease: Lease;
  readonly #stale: () => void;
  readonly #timer: LazyTimer;
  readonly #sentAt = new Map<number, Instant>();
  #sessionTimeoutMs: number;
  #sink: Sink | undefined;
  #lastId = 0;
  #lastSentMs = Number.NEGATIVE_INFINITY;

  /** `stale` is called when this connection has renewed nothing for so long that another server should be tried. */
  constructor(
    sessionTimeoutMs: number,
    deps: { readonly clock: Clock; readonly lease: Lease; readonly stale: () => void },
  ) {
    this.#sessionTimeoutMs = sessionTimeoutMs;
    this.#clock = deps.clock;
    this.#lease = deps.lease;
    this.#stale = deps.stale;
    this.#timer = new LazyTimer(deps.clock, () => this.#beat());
  }

  /** Heartbeats that were sent through this connection and not yet acknowledged. */
  get unanswered(): number {
    return this.#sentAt.size;
  }

  attached(sink: Sink, sessionTimeoutMs: number): void {
    this.detached();
    this.#sessionTimeoutMs = sessionTimeoutMs;
    this.#sink = sink;
    this.#timer.ensure(this.#dueAtMs());
  }

  detached(): void {
    this.#sink = undefined;
    this.#sentAt.clear();
    this.#lastSentMs = Number.NEGATIVE_INFINITY;
    this.#timer.stop();
  }

  /** A heartbeat was acknowledged: the lease counts from when it was sent. */
  renewed(id: number): void {
    const sentAt = this.#sentAt.get(id);
    if (sentAt === undefined) return;
    this.#lease.renew(sentAt);
    for (const earlier of this.#sentAt.keys()) {
      if (earlier <= id) this.#sentAt.delete(earlier);
    }
  }

  #dueAtMs(): number {
    const intervalMs = this.#sessionTimeoutMs / 3;
    const retryMs = Math.min(MAX_RETRY_MS, this.#sessionTimeoutMs / 10);
    return Math.max(this.#lease.renewedAtMs + intervalMs, this.#lastSentMs + retryMs);
  }

  #beat(): void {
    if (this.#sink === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    // Two heartbeats and their repetitions brought nothing: this server has lost its quorum and does not know it yet.
    if (this.#sentAt.size > 0 && nowMs - this.#lease.renewedAtMs > (2 / 3) * this.#sessionTimeoutMs) {
      // A busy event loop runs this timer before it reads its sockets: look again when they have been read.
      this.#clock.afterPoll(() => this.#endIfStale());
      return;
    }
    if (nowMs >= this.#dueAtMs()) {
      this.#lastId += 1;
      this.#lastSentMs = nowMs;
      this.#sentAt.set(this.#lastId, this.#sink.post({ type: 'heartbeat', id: this.#lastId }));
    }
    this.#timer.ensure(this.#dueAtMs());
  }

  #endIfStale(): void {
    if (this.#sink === undefined) return;
    if (this.#sentAt.size > 0) this.#stale();
    else this.#timer.ensure(this.#dueAtMs());
  }
}
