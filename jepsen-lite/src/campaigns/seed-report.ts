/** What is kept of one seed's run when many are run: plain data, so that it can cross threads. */

import type { LeadershipCounts } from '../targets/sim/invariants/leadership.ts';
import type { Violation } from '../checkers/violation.ts';
import type { MemberCounts } from '../targets/members/member-changes.ts';
import type { MarkCounts } from '../targets/sim/marks/mark.ts';
import type { SeedResult } from '../targets/sim/run.ts';
import type { Scenario } from '../scenario/scenario.ts';
import type { BatchCounts } from '../targets/sim/server-host.ts';

export interface SeedReport {
  readonly seed: number;
  readonly failure: Violation | undefined;
  /** Of a failing run. */
  readonly scenario: Scenario | undefined;
  readonly traceHash: string;
  readonly simulatedMs: number;
  readonly servers: number;
  readonly commands: number;
  readonly elections: number;
  readonly snapshotsTaken: number;
  readonly snapshotsInstalled: number;
  readonly transfers: number;
  readonly leadership: LeadershipCounts;
  readonly batches: BatchCounts;
  readonly members: MemberCounts;
  readonly marks: MarkCounts;
  readonly entries: number;
  readonly repeatedAnswers: number;
  readonly struck: Readonly<Record<string, number>>;
  /** Faults that were begun, by kind. */
  readonly begun: Readonly<Record<string, number>>;
  /** Kinds that were scheduled and did nothing. */
  readonly idle: readonly string[];
  /** What checkers counted, as `checker.count`. */
  readonly checked: Readonly<Record<string, number>>;
  /** Checkers that found nothing to judge. */
  readonly unknown: readonly string[];
}

export function reportOf(result: SeedResult): SeedReport {
  const { seed, failure, scenario, traceHash, simulatedMs, elections, entries, repeatedAnswers, verdicts } = result;
  let commands = 0;
  for (const count of result.commands.values()) commands += count;
  const counts = verdicts.flatMap(({ checker, counts: of }) =>
    Object.entries(of).map(([name, count]) => [`${checker}.${name}`, count] as const),
  );
  return {
    seed,
    failure,
    scenario: failure === undefined ? undefined : scenario,
    traceHash,
    simulatedMs,
    servers: scenario.servers,
    commands,
    elections,
    snapshotsTaken: result.snapshotsTaken,
    snapshotsInstalled: result.snapshotsInstalled,
    transfers: result.transfers,
    leadership: result.leadership,
    batches: result.batches,
    members: result.members,
    marks: result.marks,
    entries,
    repeatedAnswers,
    struck: Object.fromEntries(result.struck),
    begun: Object.fromEntries(result.begun),
    idle: result.idle,
    checked: Object.fromEntries(counts),
    unknown: verdicts.filter(({ valid }) => valid === 'unknown').map(({ checker }) => checker),
  };
}
