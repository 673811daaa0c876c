/**
 * How long a leader's batch takes from stage to stage. One batch is followed at a time, and a new one taken up at most every
 * `STAGE_SAMPLE_MS`, so that what it costs does not grow with the load. A batch whose leadership ends is forgotten.
 */

import type { Clock } from '@holdfast/runtime';
import type { Effect, LogIndex, RaftCore, RaftEvent, Term, WriteSeq } from '../../core/index.ts';
import { DurationHistogram } from './duration-histogram.ts';

/** Between the beginnings of two batches that are followed. */
export const STAGE_SAMPLE_MS = 10;

/** Of the last entry of a batch, in milliseconds since its first command was proposed. */
export interface StageTimes {
  readonly index: LogIndex;
  /** Durable on the leader's own disk; may come after all others when enough followers were faster. */
  readonly persistedMs: number;
  /** Durable, as the leader has heard, at enough followers to be a quorum with it. */
  readonly replicatedMs: number;
  readonly committedMs: number;
  readonly appliedMs: number;
}

/** What the batches that were followed took, each stage since the batch was proposed. */
export type StageHistograms = Readonly<Record<'persisted' | 'replicated' | 'committed' | 'applied', DurationHistogram>>;

interface FollowedBatch {
  readonly index: LogIndex;
  readonly term: Term;
  readonly seq: WriteSeq;
  readonly proposedAtMs: number;
  persistedMs: number | undefined;
  replicatedMs: number | undefined;
  committedMs: number | undefined;
  appliedMs: number | undefined;
}

export class StageClock {
  readonly #clock: Clock;
  readonly #core: RaftCore;
  readonly #timed: ((times: StageTimes) => void) | undefined;
  readonly histograms: StageHistograms = {
    persisted: new DurationHistogram(),
    replicated: new DurationHistogram(),
    committed: new DurationHistogram(),
    applied: new DurationHistogram(),
  };
  #batch: FollowedBatch | undefined;
  #nextAtMs = -Infinity;
  /** When the first command of the turn to come was proposed. */
  #proposedAtMs: number | undefined;

  constructor(core: RaftCore, clock: Clock, timed?: (times: StageTimes) => void) {
    this.#core = core;
    this.#clock = clock;
    this.#timed = timed;
  }

  /** A command has come. */
  proposed(): void {
    if (this.#batch === undefined) this.#proposedAtMs ??= this.#clock.monotonicMs();
  }

  persisted(seq: WriteSeq): void {
    const batch = this.#batch;
    if (batch === undefined || seq < batch.seq) return;
    batch.persistedMs ??= this.#sinceProposed(batch);
    this.#end(batch);
  }

  /** The event has come, and is left for a later turn since nothing is committed by it. */
  left(event: RaftEvent): void {
    const batch = this.#batch;
    if (batch === undefined || event.type !== 'message' || event.message.type !== 'append-response') return;
    const { accepted, term, index } = event.message;
    if (!accepted || term !== batch.term || this.#core.replicatedIndex(event.from, index) < batch.index) return;
    batch.replicatedMs ??= this.#sinceProposed(batch);
  }

  /** The core has taken the step of a turn that began at `nowMs`. */
  stepped(effects: readonly Effect[], nowMs: number): void {
    const batch = this.#batch ?? this.#begin(effects, nowMs);
    this.#proposedAtMs = undefined;
    if (batch === undefined) return;
    const { role, term, commitIndex } = this.#core.status;
    if (role !== 'leader' || term !== batch.term) {
      this.#batch = undefined;
      return;
    }
    const sinceMs = nowMs - batch.proposedAtMs;
    if (this.#core.replicatedIndex() >= batch.index) batch.replicatedMs ??= sinceMs;
    if (commitIndex >= batch.index) batch.committedMs ??= sinceMs;
  }

  applied(index: LogIndex): void {
    const batch = this.#batch;
    if (batch === undefined || index < batch.index) return;
    batch.appliedMs ??= this.#sinceProposed(batch);
    this.#end(batch);
  }

  #begin(effects: readonly Effect[], nowMs: number): FollowedBatch | undefined {
    if (this.#proposedAtMs === undefined || nowMs < this.#nextAtMs) return undefined;
    const [write] = effects;
    const last = write?.type === 'persist' ? write.entries.at(-1) : undefined;
    // A follower's proposals are refused or forwarded, and what a transfer holds back waits for its end.
    if (write?.type !== 'persist' || last === undefined || this.#core.status.role !== 'leader') return undefined;
    this.#nextAtMs = nowMs + STAGE_SAMPLE_MS;
    this.#batch = {
      index: last.index,
      term: last.term,
      seq: write.seq,
      proposedAtMs: this.#proposedAtMs,
      persistedMs: undefined,
      replicatedMs: undefined,
      committedMs: undefined,
      appliedMs: undefined,
    };
    return this.#batch;
  }

  #sinceProposed({ proposedAtMs }: FollowedBatch): number {
    return this.#clock.monotonicMs() - proposedAtMs;
  }

  /** When all stages are over. */
  #end({ index, persistedMs, replicatedMs, committedMs, appliedMs }: FollowedBatch): void {
    if (persistedMs === undefined || replicatedMs === undefined) return;
    if (committedMs === undefined || appliedMs === undefined) return;
    this.#batch = undefined;
    const { persisted, replicated, committed, applied } = this.histograms;
    persisted.note(persistedMs);
    replicated.note(replicatedMs);
    committed.note(committedMs);
    applied.note(appliedMs);
    this.#timed?.({ index, persistedMs, replicatedMs, committedMs, appliedMs });
  }
}
