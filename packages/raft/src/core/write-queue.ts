/**
 * The durable writes of a core: one a group at most, numbered, with everything that the group changed. It knows what is durable by now,
 * and for which write a message has to wait that reveals something. A late completion never makes another entry at the same index look
 * durable: a truncation lowers what earlier writes count for.
 *
 *     write 1   entries 5 6 of term 2            under way when a leader of term 3 replaces both
 *     write 2   cut from 5, entry 5 of term 3    write 1 counts up to 4 from now on: when it is done, entry 5 of term 3 is not durable
 */

import type { Effect } from './event.ts';
import { invariant } from './invariant.ts';
import {
  maxIndex,
  minIndex,
  previousIndex,
  type Entry,
  type HardState,
  type LogIndex,
  type LogPosition,
  type WriteSeq,
} from './types.ts';

interface PendingWrite {
  readonly seq: WriteSeq;
  hardState: HardState | undefined;
  snapshot: LogPosition | undefined;
  truncateFrom: LogIndex | undefined;
  entries: Entry[];
}

interface OutstandingWrite {
  readonly seq: WriteSeq;
  /** The last index that is durable with it; lowered when a later truncation removes entries. */
  lastIndex: LogIndex;
}

type Persist = Extract<Effect, { type: 'persist' }>;

export class WriteQueue {
  /** Everything up to here is durable here. */
  stableIndex: LogIndex;
  /** Milliseconds for which writes are under way and none has ended; counted in clamped steps. */
  waitMs = 0;
  #pending: PendingWrite | undefined;
  #outstanding: OutstandingWrite[] = [];
  /** Where the log ends once every write that was handed out is done. */
  #writtenIndex: LogIndex;
  #lastSeq = 0 as WriteSeq;
  #persistedSeq = 0 as WriteSeq;
  /** The write that made term and vote durable; whatever reveals them waits for it. */
  #hardStateSeq = 0 as WriteSeq;

  constructor(lastIndex: LogIndex) {
    this.stableIndex = lastIndex;
    this.#writtenIndex = lastIndex;
  }

  /** The write after which everything that this core holds so far is durable. */
  get lastSeq(): WriteSeq {
    return this.#lastSeq;
  }

  /** Whether a write is under way. */
  get writing(): boolean {
    return this.#outstanding.length > 0;
  }

  /** Whether the present term and vote are durable. */
  get hardStatePersisted(): boolean {
    return this.#persistedSeq >= this.#hardStateSeq;
  }

  setHardState(hardState: HardState): void {
    const write = this.#write();
    write.hardState = hardState;
    this.#hardStateSeq = write.seq;
  }

  append(entry: Entry): void {
    this.#write().entries.push(entry);
  }

  truncateFrom(index: LogIndex): void {
    const last = previousIndex(index);
    this.stableIndex = minIndex(this.stableIndex, last);
    for (const write of this.#outstanding) write.lastIndex = minIndex(write.lastIndex, last);
    const write = this.#write();
    write.entries = write.entries.filter((entry) => entry.index < index);
    // Entries of this very group never reach the disk, so only what earlier writes hold has to be cut.
    if (index <= this.#writtenIndex) write.truncateFrom = minIndex(write.truncateFrom ?? index, index);
  }

  /** A snapshot, which is durable, replaces the whole log. */
  beginLogAt({ index, term }: LogPosition): void {
    this.stableIndex = index;
    for (const write of this.#outstanding) write.lastIndex = minIndex(write.lastIndex, index);
    const write = this.#write();
    write.snapshot = { index, term };
    write.truncateFrom = undefined;
    write.entries = [];
    this.#writtenIndex = index;
  }

  /** The write and all before it are durable. */
  persisted(seq: WriteSeq): void {
    invariant(seq <= this.#lastSeq, 'only-issued-writes-complete');
    this.#persistedSeq = seq > this.#persistedSeq ? seq : this.#persistedSeq;
    while ((this.#outstanding[0]?.seq ?? Infinity) <= seq) {
      const write = this.#outstanding.shift();
      this.waitMs = 0;
      if (write !== undefined) this.stableIndex = maxIndex(this.stableIndex, write.lastIndex);
    }
  }

  /** What {@link stableIndex} will be when the write and all before it are done. */
  stableIndexAfter(seq: WriteSeq): LogIndex {
    let stable = this.stableIndex;
    for (const write of this.#outstanding) if (write.seq <= seq) stable = maxIndex(stable, write.lastIndex);
    return stable;
  }

  /** For which write a message waits that reveals the present term and vote, and what `after` made durable. */
  awaited(after: WriteSeq): WriteSeq | undefined {
    const needed = after > this.#hardStateSeq ? after : this.#hardStateSeq;
    return needed > this.#persistedSeq ? needed : undefined;
  }

  /** The write of the group that ends, when it changed anything; the log then ends at `lastIndex`. */
  take(lastIndex: LogIndex): Persist | undefined {
    const write = this.#pending;
    if (write === undefined) return undefined;
    this.#pending = undefined;
    const { seq, hardState, snapshot, truncateFrom, entries } = write;
    this.#outstanding.push({ seq, lastIndex });
    this.#writtenIndex = lastIndex;
    return { type: 'persist', seq, hardState, snapshot, truncateFrom, entries };
  }

  #write(): PendingWrite {
    if (this.#pending === undefined) {
      this.#lastSeq = (this.#lastSeq + 1) as WriteSeq;
      const nothing = { hardState: undefined, snapshot: undefined, truncateFrom: undefined };
      this.#pending = { seq: this.#lastSeq, ...nothing, entries: [] };
    }
    return this.#pending;
  }
}
