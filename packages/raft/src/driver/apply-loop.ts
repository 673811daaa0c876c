/**
 * Brings committed entries to the machine: in order, each once, a slice of time in every turn. Entries that are no longer in memory,
 * as after a restart, are read from disk, and applied in a turn that follows, while the next are being read. One that takes long begins a
 * turn: peers and clients hear first what the turn before has for them.
 */

import type { Clock } from '@holdfast/runtime';
import {
  invariant,
  logIndex,
  maxIndex,
  minIndex,
  nextIndex,
  previousIndex,
  takesLong,
  type Entry,
  type LogIndex,
  type RaftCore,
} from '../core/index.ts';
import type { LogStore } from '../log-store/contract/log-store.ts';

/** Goes on in the next turn after this long, so that heartbeats and clients are not kept waiting. */
const SLICE_MS = 10;
const CHUNK_BYTES = 1024 * 1024;

export interface ApplyLoopEvents {
  apply(entry: Entry): void;
  /** Entries have come from disk: a turn is needed. */
  wake(): void;
  failed(error: unknown): void;
}

export class ApplyLoop {
  readonly #core: RaftCore;
  readonly #store: LogStore;
  readonly #clock: Clock;
  readonly #events: ApplyLoopEvents;
  #applied = logIndex(0);
  #committed = logIndex(0);
  #reading = false;
  #paused = false;
  #fromDisk: readonly Entry[] = [];
  /** The entry that takes long and is the first of the next turn. */
  #postponed = logIndex(0);

  constructor(parts: { core: RaftCore; store: LogStore; clock: Clock }, events: ApplyLoopEvents) {
    this.#core = parts.core;
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#events = events;
  }

  get applied(): LogIndex {
    return this.#applied;
  }

  get hasWork(): boolean {
    return this.#committed > this.#applied && !this.#paused && (this.#fromDisk.length > 0 || !this.#reading);
  }

  /** Everything up to here may be applied. */
  commit(upTo: LogIndex): void {
    this.#committed = upTo;
  }

  /** Nothing is applied until {@link restored}: another state is to come. */
  pause(): void {
    this.#paused = true;
  }

  /** The machine has the state of that index now. */
  restored(index: LogIndex): void {
    invariant(index >= this.#applied, 'the-applied-index-never-falls', () => `${index} after ${this.#applied}`);
    this.#paused = false;
    this.#applied = index;
    this.#committed = maxIndex(this.#committed, index);
    this.#fromDisk = [];
  }

  run(): void {
    if (!this.hasWork) return;
    const sliceEnd = this.#clock.monotonicMs() + SLICE_MS;
    do {
      const entries = this.#next();
      if (entries === undefined || !this.#apply(entries)) return;
    } while (this.hasWork && this.#clock.monotonicMs() < sliceEnd);
  }

  /** Undefined when they are not in memory: they are being read. */
  #next(): readonly Entry[] | undefined {
    const entries = this.#fromDisk;
    this.#fromDisk = [];
    const last = entries.at(-1);
    if (last !== undefined) {
      // What was kept from the turn before is followed by what is being read.
      if (!this.#reading) this.#read(nextIndex(last.index));
      return entries;
    }
    const next = nextIndex(this.#applied);
    const inMemory = this.#core.entries(next, this.#committed, CHUNK_BYTES);
    if (inMemory === undefined) this.#read(next);
    return inMemory;
  }

  /** False when the rest is for the next turn. */
  #apply(entries: readonly Entry[]): boolean {
    for (let at = 0; at < entries.length; at += 1) {
      const entry = entries[at];
      invariant(entry !== undefined, 'entries-have-no-gap');
      invariant(entry.index === this.#applied + 1, 'entries-are-applied-in-order');
      if (takesLong(entry) && this.#postponed !== entry.index) {
        this.#postponed = entry.index;
        this.#keep(entries.slice(at));
        return false;
      }
      this.#events.apply(entry);
      this.#applied = entry.index;
    }
    return true;
  }

  /** What came from disk would have to be read again; what is in memory is there in the next turn, too. */
  #keep(entries: readonly Entry[]): void {
    const [first] = entries;
    if (first !== undefined && first.index < this.#core.memoryFrom) this.#fromDisk = entries;
  }

  /** What is committed is never truncated, so it may be read before its turn. */
  #read(from: LogIndex): void {
    const to = minIndex(this.#committed, previousIndex(this.#core.memoryFrom));
    if (from > to) return;
    this.#reading = true;
    this.#store.read(from, to, CHUNK_BYTES).then(
      (entries) => {
        this.#reading = false;
        // A snapshot may have brought the state further meanwhile.
        if (entries[0]?.index === this.#applied + 1) this.#fromDisk = entries;
        this.#events.wake();
      },
      (error: unknown) => this.#events.failed(error),
    );
  }
}
