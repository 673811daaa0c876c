/**
 * Runs one scenario in a simulated world to its end and judges it. The same scenario gives the same run.
 */

import type { Entry } from '@holdfast/raft';
import { drawScenario, type DrawOptions } from '../../scenario/draw/draw.ts';
import type { Scenario } from '../../scenario/scenario.ts';
import type { Violation } from '../../checkers/violation.ts';
import type { Verdict } from '../../checkers/verdict.ts';
import type { HistoryEvent } from '../../history/history.ts';
import type { Effect } from '../../nemeses/target.ts';
import { judge, runOn } from '../phases.ts';
import { Cluster } from './cluster.ts';
import type { LeadershipCounts } from './invariants/leadership.ts';
import type { MarkCounts } from './marks/mark.ts';
import type { MemberCounts } from '../members/member-changes.ts';
import type { BatchCounts } from './server-host.ts';
import { SimTarget } from './sim-target.ts';

export interface SeedResult {
  readonly seed: number;
  readonly passed: boolean;
  readonly failure?: Violation;
  readonly scenario: Scenario;
  readonly simulatedMs: number;
  readonly traceHash: string;
  /** Commands of clients that were applied. */
  readonly commands: ReadonlyMap<string, number>;
  readonly repeatedAnswers: number;
  readonly elections: number;
  readonly snapshotsTaken: number;
  readonly snapshotsInstalled: number;
  /** Leaders that were told to stop while nothing was wrong, and transferred leadership. */
  readonly transfers: number;
  readonly leadership: LeadershipCounts;
  readonly batches: BatchCounts;
  readonly members: MemberCounts;
  readonly marks: MarkCounts;
  readonly struck: ReadonlyMap<Effect, number>;
  /** Faults that were begun, by kind. */
  readonly begun: ReadonlyMap<string, number>;
  /** Kinds of faults that were scheduled and did nothing. */
  readonly idle: readonly string[];
  readonly entries: number;
  /** What some server has applied, in the order of the log. */
  readonly committed: readonly Entry[];
  readonly history: readonly HistoryEvent[];
  /** Empty when an invariant was broken before. */
  readonly verdicts: readonly Verdict[];
}

export async function runSeed(seed: number, options: DrawOptions = {}): Promise<SeedResult> {
  return await runScenario(drawScenario(seed, options));
}

export async function runScenario(scenario: Scenario): Promise<SeedResult> {
  const cluster = new Cluster(scenario);
  const target = new SimTarget(cluster);
  const { begun, idle } = await runOn(target, scenario);
  const verdicts = judge(target, scenario);
  const { violation, world, locks, consensus, transfers, recorder } = cluster;
  return {
    seed: scenario.seed,
    passed: violation === undefined,
    ...(violation === undefined ? {} : { failure: violation }),
    scenario,
    simulatedMs: world.nowMs,
    traceHash: world.traceHash,
    commands: locks.commands,
    repeatedAnswers: locks.repeatedAnswers,
    elections: consensus.elections,
    snapshotsTaken: consensus.snapshotsTaken,
    snapshotsInstalled: consensus.snapshotsInstalled,
    transfers: transfers.transfers,
    leadership: cluster.leadership.counts,
    batches: cluster.batches,
    members: target.members.counts,
    marks: cluster.marks.counts,
    struck: cluster.struck,
    begun,
    idle,
    entries: locks.appliedEntries,
    committed: cluster.committed,
    history: recorder.events,
    verdicts,
  };
}
