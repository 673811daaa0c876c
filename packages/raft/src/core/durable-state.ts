/** What a server begins with: all that its disk held when it stopped. */

import type { TermRun } from './log/term-runs.ts';
import type { HardState, LogIndex, LogPosition, SnapshotPosition, Term } from './types.ts';

export interface DurableState {
  readonly hardState: HardState;
  /** What comes before the first entry: where the log was compacted to; LOG_START while it is whole. */
  readonly base: LogPosition;
  /** The last entry's, or the base's. */
  readonly lastIndex: LogIndex;
  /** The terms of all entries, by first index; empty for an empty log. */
  readonly terms: readonly TermRun[];
  /** The newest snapshot; at or behind the base, and within the log. The state begins there: what it holds is committed and applied. */
  readonly snapshot: SnapshotPosition | undefined;
  /** The log has lost what this server had acknowledged, and was cut there: from this term on it may not vote (vote-ban.ts). */
  readonly voteBan?: Term;
  /** The configuration entries of the log, in order. */
  readonly configurations: readonly ConfigurationEntry[];
}

/** `data` is that of the entry. */
export interface ConfigurationEntry {
  readonly index: LogIndex;
  readonly data: Uint8Array;
}
