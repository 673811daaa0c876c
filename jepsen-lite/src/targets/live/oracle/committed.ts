/**
 * What was committed, as the servers' logs show it once all have ended: what a majority of the voters has. Up to the highest index that any
 * server was seen to call committed, and up to the last one in a snapshot, all of it must be there, and no voter's log may have anything
 * else in its place. What a server has forgotten since it took or received a snapshot comes from copies that were made of its log before.
 */

import type { Entry } from '@holdfast/raft';
import { isSame } from './log-archive.ts';
import type { ServerLog } from './read-logs.ts';

/** A server's log, and what was copied of it. */
export interface KeptLog extends Pick<ServerLog, 'host' | 'baseIndex' | 'entries'> {
  /** By index, less one. */
  readonly copied: readonly (Entry | undefined)[];
}

export interface Committed {
  readonly entries: readonly Entry[];
  /** What is wrong with the logs; empty when nothing is. */
  readonly problems: readonly string[];
  /** Of the entries, those that no log has any more: only copies show them. */
  readonly onlyCopied: number;
  /**
   * What to say of it when the next entry was committed, and nobody has it any more but as a part of snapshots: what comes after cannot be
   * judged. No fault of a server, which may forget what a snapshot holds, but of the harness, which has not copied it in time.
   */
  readonly cut: string | undefined;
}

export interface CommittedOptions {
  /** Hosts of the voters in the end. */
  readonly voters: readonly string[];
  /** The highest index that a server said was committed. */
  readonly seen: number;
}

export function committedOf(logs: readonly KeptLog[], { voters, seen }: CommittedOptions): Committed {
  const majority = Math.floor(voters.length / 2) + 1;
  const voting = logs.filter(({ host }) => voters.includes(host));
  // A snapshot holds only what was applied.
  const sure = Math.max(seen, ...logs.map(({ baseIndex }) => baseIndex));
  const problems: string[] = [];
  const entries: Entry[] = [];
  let onlyCopied = 0;
  let cut: string | undefined;
  for (let index = 1; ; index += 1) {
    const entry = chosen(logs.flatMap((log) => entryAt(log, index) ?? log.copied[index - 1] ?? []));
    const found = voting.flatMap((log) => entryAt(log, index) ?? []);
    const count = found.filter((each) => entry !== undefined && isSame(each, entry)).length;
    const held = voting.filter(({ baseIndex }) => baseIndex >= index).length;
    if (count + held < majority) {
      if (index <= sure) problems.push(`entry ${index} was committed, and only ${count + held} voters have it`);
      break;
    }
    if (entry === undefined) {
      cut = `entry ${index} is in snapshots only, and was not copied before`;
      break;
    }
    if (index <= sure && count < found.length) {
      problems.push(`the servers' logs differ at the committed index ${index}`);
    }
    if (logs.every((log) => entryAt(log, index) === undefined)) onlyCopied += 1;
    entries.push(entry);
  }
  return { entries, problems, onlyCopied, cut };
}

function entryAt({ baseIndex, entries }: KeptLog, index: number): Entry | undefined {
  return index > baseIndex ? entries[index - baseIndex - 1] : undefined;
}

/**
 * Of what was ever at one index: no leader after the term of a committed entry has made another one, so that what has a lower term was
 * overruled. Undefined when there is nothing.
 */
function chosen(entries: readonly Entry[]): Entry | undefined {
  const highest = Math.max(...entries.map(({ term }) => term));
  let best: readonly [Entry | undefined, number] = [undefined, 0];
  for (const entry of entries.filter(({ term }) => term === highest)) {
    const count = entries.filter((other) => isSame(entry, other)).length;
    if (count > best[1]) best = [entry, count];
  }
  return best[0];
}
