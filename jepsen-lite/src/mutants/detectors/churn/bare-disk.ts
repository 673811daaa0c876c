/**
 * What a bare core has on its disk: term and vote, the log behind a base, and the newest snapshot. Its state is all that was applied up
 * to it, so that the log is known from the beginning, whatever of it was forgotten.
 */

import {
  EntryType,
  LOG_START,
  NO_SERVER,
  logIndex,
  type Boot,
  type Effect,
  type Entry,
  type HardState,
  type LogIndex,
  type LogPosition,
  type SnapshotPosition,
  type Term,
  type TermMark,
} from '@holdfast/raft/core';

export type Persist = Extract<Effect, { type: 'persist' }>;

export interface BareSnapshot {
  readonly position: SnapshotPosition;
  readonly state: readonly Entry[];
}

export class BareDisk {
  #hardState: HardState = { term: 0 as Term, votedFor: NO_SERVER };
  #base: LogPosition = LOG_START;
  #entries: Entry[] = [];
  #snapshot: BareSnapshot | undefined;

  get snapshot(): BareSnapshot | undefined {
    return this.#snapshot;
  }

  get #lastIndex(): LogIndex {
    return logIndex(this.#base.index + this.#entries.length);
  }

  /** What a start begins with. A snapshot that was received, and that the log does not go on from, takes the log's place. */
  boot(): Boot {
    this.#restartLog();
    const terms: TermMark[] = [];
    for (const { term, index } of this.#entries) {
      if (terms.at(-1)?.term !== term) terms.push({ term, firstIndex: index });
    }
    const configurations = this.#entries.filter(({ type }) => type === EntryType.configuration);
    return {
      hardState: this.#hardState,
      base: this.#base,
      lastIndex: this.#lastIndex,
      terms,
      snapshot: this.#snapshot?.position,
      configurations,
    };
  }

  write({ hardState, snapshot, truncateFrom, entries }: Persist): void {
    if (hardState !== undefined) this.#hardState = hardState;
    if (snapshot !== undefined) {
      this.#base = snapshot;
      this.#entries = [];
    }
    if (truncateFrom !== undefined) {
      this.#entries.length = Math.min(this.#entries.length, truncateFrom - 1 - this.#base.index);
    }
    this.#entries.push(...entries);
  }

  /** Unless there is a newer one. */
  keep(snapshot: BareSnapshot): void {
    if (snapshot.position.index > (this.#snapshot?.position.index ?? 0)) this.#snapshot = snapshot;
  }

  compact(upTo: LogIndex): void {
    const last = this.#entries[upTo - this.#base.index - 1];
    if (last === undefined) return;
    this.#entries.splice(0, upTo - this.#base.index);
    this.#base = { index: last.index, term: last.term };
  }

  /** None that were forgotten. */
  entries(from: LogIndex, to: LogIndex): readonly Entry[] {
    return from <= this.#base.index ? [] : this.#entries.slice(from - this.#base.index - 1, to - this.#base.index);
  }

  /** From the beginning, with `writes` that are on their way here. */
  log(writes: readonly Persist[]): readonly Entry[] {
    const log = [...this.#before(this.#base), ...this.#entries];
    for (const { snapshot, truncateFrom, entries } of writes) {
      if (snapshot !== undefined) log.splice(0, log.length, ...this.#before(snapshot));
      if (truncateFrom !== undefined) log.length = Math.min(log.length, truncateFrom - 1);
      log.push(...entries);
    }
    return log;
  }

  #before({ index }: LogPosition): readonly Entry[] {
    return this.#snapshot?.state.slice(0, index) ?? [];
  }

  #restartLog(): void {
    const position = this.#snapshot?.position;
    if (position === undefined) return;
    const { index, term } = position;
    const found = index === this.#base.index ? this.#base.term : this.#entries[index - this.#base.index - 1]?.term;
    if (found === term) return;
    this.#base = { index, term };
    this.#entries = [];
    if (this.#hardState.term < term) this.#hardState = { term, votedFor: NO_SERVER };
  }
}
