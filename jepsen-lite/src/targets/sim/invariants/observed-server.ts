/** One server as the invariants have seen it: what its core reported last, and what its log is, in memory and on disk. */

import { ServerLog } from './server-log.ts';

/** What `stepped` reports of a core. */
export interface CoreView {
  readonly role: string;
  readonly term: number;
  readonly votedFor: number;
  readonly commitIndex: number;
  readonly lastIndex: number;
}

export class ObservedServer {
  readonly log: ServerLog;
  boots = 0;
  role = 'down';
  term = 0;
  votedFor = 0;
  commit = 0;
  applied = 0;
  /** The snapshots whose state the machine has built in this life. */
  readonly built = new Set<number>();
  /** Its log was damaged: how many entries were committed then. Before it has them again it must not vote. */
  owed = 0;
  /** The terms of the entries that it had then. What it has acknowledged of them may be counted still: it must not vote without them. */
  lost: readonly number[] = [];
  /** Another disk has taken the place of its own: what it had is counted still, what it does now is of no account. */
  diskLost = false;

  constructor(committed: readonly number[]) {
    this.log = new ServerLog(committed);
  }
}
