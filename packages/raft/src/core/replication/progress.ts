/**
 * What a leader knows of one peer's log. In `probe` it does not know where the logs agree and sends one append at a time; in
 * `replicate` it sends without waiting, up to a bounded window; in `snapshot` the peer needs entries that are gone, and it sends nothing
 * until a snapshot has brought it further.
 */

import { invariant } from '../invariant.ts';
import { maxIndex, nextIndex, type LogIndex } from '../types.ts';

interface Inflight {
  readonly lastIndex: LogIndex;
  readonly bytes: number;
}

export class Progress {
  /** Durable at the peer, as acknowledged. */
  match: LogIndex = 0 as LogIndex;
  next: LogIndex;
  mode: 'probe' | 'replicate' | 'snapshot' = 'probe';
  /** probe: an append is under way. */
  probing = false;
  /** Its next entries are being read from disk. */
  reading = false;
  connected: boolean;
  /** When it was last heard in this term, by the clock of CoreState.countedMs. */
  heardMs = -Infinity;
  /** Ends of heartbeat intervals at which an append was unanswered, and none was answered in between. */
  intervalsWithoutAck = 0;
  /** The last heartbeat round that it answered. */
  round = 0;
  eagerCommit = false;
  /** A member of the eager quorum: gets new entries at once, though it has no clients. */
  eager = false;
  /** A deferred follower has taken its place in the eager quorum, and it has not kept up with a commit since. */
  overtaken = false;
  /** Deferred: commits that its acknowledgement decided, less those that it was too late for. */
  commitsDecided = 0;
  /** When it was last sent entries, in milliseconds; and whether newer ones are deferred. */
  sentAt = -Infinity;
  deferred = false;
  /** The highest commit index that it was sent. */
  sentCommit: LogIndex = 0 as LogIndex;
  #inflight: Inflight[] = [];
  #inflightBytes = 0;

  readonly #aliveMs: number;

  /** A peer that answered within the last `aliveMs` counts as alive. */
  constructor(next: LogIndex, { connected, aliveMs }: { connected: boolean; aliveMs: number }) {
    this.next = next;
    this.connected = connected;
    this.#aliveMs = aliveMs;
  }

  /** Whether messages reach it, and it was heard lately: whatever needs its answer may count on it. `countedMs` is the core's clock. */
  isAlive(countedMs: number): boolean {
    return this.connected && countedMs - this.heardMs < this.#aliveMs;
  }

  /** Whether an append is under way. */
  get unanswered(): boolean {
    return this.probing || this.#inflight.length > 0;
  }

  get inflightMessages(): number {
    return this.#inflight.length;
  }

  get inflightBytes(): number {
    return this.#inflightBytes;
  }

  sent(lastIndex: LogIndex, bytes: number): void {
    if (!this.unanswered) this.intervalsWithoutAck = 0;
    if (this.mode === 'probe') {
      this.probing = true;
      return;
    }
    this.#inflight.push({ lastIndex, bytes });
    this.#inflightBytes += bytes;
    this.next = nextIndex(lastIndex);
  }

  /** True when it moved. */
  acknowledged(index: LogIndex): boolean {
    const moved = index > this.match;
    const before = this.#inflight.length;
    this.match = maxIndex(this.match, index);
    this.next = maxIndex(this.next, nextIndex(this.match));
    if (this.mode === 'probe') {
      this.mode = 'replicate';
      this.probing = false;
      this.next = nextIndex(this.match);
    }
    while (this.#inflight.length > 0 && (this.#inflight[0]?.lastIndex ?? 0) <= index) {
      this.#inflightBytes -= this.#inflight.shift()?.bytes ?? 0;
    }
    if (this.#inflight.length < before) this.intervalsWithoutAck = 0;
    invariant(this.match < this.next, 'match-is-below-next');
    return moved;
  }

  /** What it needs next is gone from the log. */
  awaitSnapshot(): void {
    this.probeFrom(this.next);
    this.mode = 'snapshot';
  }

  /** Whatever was under way is lost or was refused: find out again where the logs agree, from `next`. */
  probeFrom(next: LogIndex): void {
    this.mode = 'probe';
    this.probing = false;
    this.next = maxIndex(next, nextIndex(this.match));
    this.#inflight = [];
    this.#inflightBytes = 0;
  }
}
