/**
 * Adaptive group commit, for clients that wait for each answer. Those of one batch are answered together and come back one after another;
 * if the first of them began the next batch, the others would miss it, and there would be two groups that wait for each other's writes in
 * turn. So a leader holds proposals while clients are expected whom it has just answered, and proposes them as one batch when the last has
 * come. It waits for nobody but clients whose think time was short the last times, not longer than one commit takes, and not at all where
 * that was in vain lately (docs/architecture.md, Adaptive group commit). Every proposal of this server goes this way, so their order stays.
 */

import type { Clock, Timer } from '@holdfast/runtime';
import type { Entry } from '@holdfast/raft';
import type { SessionClient } from '../../port/session-client.ts';
import type { ServerCounters } from '../../counters.ts';
import { MAX_BATCHED_BYTES, MAX_BATCHED_ENTRIES } from '../../limits.ts';
import type { ServerPart } from '../../machine/server-part.ts';
import { CommitLatency } from './commit-latency.ts';
import type { ClientThinkTime } from './client-think-time.ts';
import { BatchingBackoff } from './batching-backoff.ts';

export interface CommitBatcherDeps {
  readonly clock: Clock;
  readonly counters: ServerCounters;
  propose(entry: Uint8Array): void;
}

export class CommitBatcher implements ServerPart {
  readonly #deps: CommitBatcherDeps;
  #leads = false;
  #commitLatency = new CommitLatency();
  #backoff = new BatchingBackoff();
  /** Counts the batches, so that what an earlier one expected is forgotten at once. */
  #batch = 1;
  /** How many clients the present batch waits for. */
  #expected = 0;
  #answeredAtMs = -Infinity;
  /** When the first client of this turn was answered: all answers of a turn leave together. */
  #answeringSinceMs: number | undefined;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #timer: Timer | undefined;

  constructor(deps: CommitBatcherDeps) {
    this.#deps = deps;
  }

  /** This server leads from now on. */
  lead(): void {
    this.#leads = true;
    this.#commitLatency = new CommitLatency();
    this.#backoff = new BatchingBackoff();
  }

  /** Nobody is waited for any longer. Returns what was held, which is not proposed. */
  standDown(): readonly Uint8Array[] {
    this.#leads = false;
    return this.#endBatch();
  }

  /** What is held goes at once, and all that comes later. */
  stop(): void {
    for (const entry of this.standDown()) this.#deps.propose(entry);
  }

  propose(entry: Uint8Array, nowMs = this.#deps.clock.monotonicMs()): void {
    if (this.#expected > 0 && this.#waits(nowMs)) this.#hold(entry);
    else this.#pass(entry, nowMs);
  }

  /** A client was answered, and has nothing else to wait for. */
  answered(thinkTime: ClientThinkTime): void {
    if (!this.#leads) return;
    const now = (this.#answeringSinceMs ??= this.#deps.clock.monotonicMs());
    this.#answeredAtMs = now;
    thinkTime.answered(now);
    if (!thinkTime.isPrompt || thinkTime.expectedIn === this.#batch || !this.#backoff.allows(now)) return;
    thinkTime.expectedIn = this.#batch;
    this.#expected += 1;
  }

  endOfTurn(): void {
    this.#answeringSinceMs = undefined;
  }

  /** A client has sent a request, which is about to be proposed. */
  returned(thinkTime: ClientThinkTime, nowMs = this.#deps.clock.monotonicMs()): void {
    if (!this.#leads) return;
    thinkTime.returned(nowMs, this.#batchWaitMs);
    this.gone(thinkTime);
  }

  /** Nobody needs to wait for that client. */
  gone(thinkTime: ClientThinkTime): void {
    if (thinkTime.expectedIn !== this.#batch) return;
    thinkTime.expectedIn = 0;
    this.#expected -= 1;
    if (this.#expected > 0 || this.#held.length === 0) return;
    this.#deps.counters.batchesComplete += 1;
    this.#backoff.succeeded();
    this.#release();
  }

  clientClosed({ thinkTime }: Pick<SessionClient, 'thinkTime'>): void {
    this.gone(thinkTime);
  }

  applied({ data }: Pick<Entry, 'data'>): void {
    if (this.#commitLatency.follows(data)) this.#commitLatency.applied(this.#deps.clock.monotonicMs());
  }

  /** Until it is known how long a commit takes nobody is prompt. */
  get #batchWaitMs(): number {
    return this.#commitLatency.averageMs ?? 0;
  }

  /** Whether those who are expected may still come in time. */
  #waits(nowMs: number): boolean {
    if (this.#held.length > 0) return true;
    if (nowMs - this.#answeredAtMs < this.#batchWaitMs) return true;
    this.#release();
    return false;
  }

  #hold(entry: Uint8Array): void {
    this.#held.push(entry);
    this.#heldBytes += entry.length;
    this.#deps.counters.proposalsBatched += 1;
    if (this.#held.length >= MAX_BATCHED_ENTRIES || this.#heldBytes >= MAX_BATCHED_BYTES) {
      // Enough to be worth a write of its own.
      this.#release();
    } else {
      this.#timer ??= this.#deps.clock.setTimer(this.#batchWaitMs, () => this.#late());
    }
  }

  #late(): void {
    this.#deps.counters.batchesLate += 1;
    this.#backoff.failed(this.#deps.clock.monotonicMs());
    this.#release();
  }

  /** Nobody is waited for any longer, and what is held goes. */
  #release(): void {
    const batch = this.#endBatch();
    if (batch.length === 0) return;
    const now = this.#deps.clock.monotonicMs();
    for (const entry of batch) this.#pass(entry, now);
  }

  #endBatch(): readonly Uint8Array[] {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#batch += 1;
    this.#expected = 0;
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  #pass(entry: Uint8Array, nowMs: number): void {
    if (this.#leads && this.#commitLatency.wantsNext(nowMs)) this.#commitLatency.proposed(entry, nowMs);
    this.#deps.propose(entry);
  }
}
