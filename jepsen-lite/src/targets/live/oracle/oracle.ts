/**
 * The servers' logs as a second judge of a live run: what clients were told must be what the committed entries say, when the real state
 * machine applies them once more. What the history alone shows is judged before; where the two disagree, one of them is wrong.
 */

import type { Entry } from '@holdfast/raft';
import { checkHistory, type CheckerName } from '../../../checkers/check.ts';
import type { Verdict } from '../../../checkers/verdict.ts';
import type { Violation } from '../../../checkers/violation.ts';
import type { History, HistoryEvent } from '../../../history/history.ts';
import { serverHost } from '../../../plan/plan.ts';
import { committedOf } from './committed.ts';
import type { LogArchive } from './log-archive.ts';
import { merge } from './merge.ts';
import { readLog, type ServerLog } from './read-logs.ts';
import { replay } from './replay.ts';
import { witnessesOf } from './witnesses.ts';

export interface OracleOptions {
  /** The data directories of all servers that have run, by host. */
  readonly directories: ReadonlyMap<string, string>;
  /** What was copied of their logs while they ran. */
  readonly archive: Pick<LogArchive, 'entriesOf'>;
  /** Hosts of the voters that the cluster began with. */
  readonly founders: readonly string[];
  /** The highest index that a server was seen to call committed. */
  readonly committedSeen: number;
  readonly checkers: readonly CheckerName[];
}

export interface OracleReport {
  /** With what the log says among it. */
  readonly history: readonly HistoryEvent[];
  readonly verdicts: readonly Verdict[];
  /** The first disagreement. */
  readonly violation: Violation | undefined;
  readonly entries: number;
  /** Of these, those that all servers had forgotten: judged by the copies that were made before. */
  readonly entriesForgotten: number;
  /** Of servers, whose states were compared with what the entries make. */
  readonly snapshots: number;
  /** In the order of the log. */
  readonly committed: readonly Entry[];
  readonly acknowledged: number;
  /** Undefined where the logs end too early to tell. */
  readonly acknowledgedLost: number | undefined;
  /** Why they do; undefined where they are whole. */
  readonly cut: string | undefined;
  readonly sessionsExpired: number;
}

/** @throws what opening a log throws */
export async function consultLog(history: History, options: OracleOptions): Promise<OracleReport> {
  const { directories, archive, founders, committedSeen, checkers } = options;
  const logs = await Promise.all([...directories].map(([host, path]) => readLog(host, path)));
  const kept = logs.map((log) => ({ ...log, copied: archive.entriesOf(log.host) }));
  const committed = committedOf(kept, { voters: votersOf(logs) ?? founders, seen: committedSeen });
  const snapshots = logs.flatMap(({ host, snapshot }) => (snapshot === undefined ? [] : { host, ...snapshot }));
  const replayed = replay(committed.entries, snapshots);
  const witnesses = witnessesOf(history, replayed);
  // What is only in entries that are missing would look as if it had never been.
  const whole = committed.cut === undefined;
  const merged = whole ? merge(history, replayed.events, witnesses) : { history, backwards: [] };
  const verdicts = checkHistory(merged.history, { checkers });
  const { acknowledged, lost } = witnesses;
  const disagreement = (what: string, problems: readonly string[]): Violation[] =>
    problems.length === 0 ? [] : [{ name: `log: ${what}`, message: problems[0] ?? '' }];
  const [violation] = [
    ...disagreement('the-logs-agree', committed.problems),
    ...disagreement('the-entries-keep-the-promises', replayed.problems),
    ...disagreement('what-was-acknowledged-is-there', whole ? lost : []),
    ...disagreement('entries-follow-real-time', merged.backwards),
    ...verdicts.flatMap((verdict) => disagreement(verdict.checker, wrongs(verdict, merged.history))),
  ];
  return {
    history: merged.history,
    verdicts,
    violation,
    entries: committed.entries.length,
    entriesForgotten: committed.onlyCopied,
    snapshots: snapshots.length,
    committed: committed.entries,
    acknowledged,
    acknowledgedLost: whole ? lost.length : undefined,
    cut: committed.cut,
    sessionsExpired: replayed.events.filter((each) => each.type === 'ended-session' && each.reason === 'expired')
      .length,
  };
}

/** In the log that is ahead of all others, as servers compare them when they vote. */
function votersOf(logs: readonly ServerLog[]): readonly string[] | undefined {
  const [ahead] = logs.toSorted((a, b) => b.lastTerm - a.lastTerm || lastIndexOf(b) - lastIndexOf(a));
  return ahead?.voters?.map(serverHost);
}

function lastIndexOf({ baseIndex, entries }: ServerLog): number {
  return baseIndex + entries.length;
}

function wrongs({ valid, broken }: Verdict, history: History): string[] {
  if (valid !== false) return [];
  return broken.map(({ message, events }) =>
    [message, ...events.map((seq) => JSON.stringify(history[seq - 1]))].join('\n  '),
  );
}
