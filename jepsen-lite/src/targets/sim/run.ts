/**
 * Runs one scenario to its end and judges it: faults under load, then everything heals and must work again within a bound, then the
 * leader is told to stop and must hand over, then everybody stops and nothing may be left behind. The first violation ends it. The
 * same scenario gives the same run.
 */

import type { StateMachine } from '@holdfast/state';
import { Cluster, RESTART_AFTER_MS } from './cluster.ts';
import { expectNoSilence, reconnect, silencesLater } from './connections.ts';
import { drawScenario, type DrawOptions } from '../../scenario/draw/draw.ts';
import { SimTarget } from './sim-target.ts';
import { nemesisOf, type Fault } from '../../nemeses/index.ts';
import { Inflictor } from '../../nemeses/inflictor.ts';
import type { Effect } from '../../nemeses/target.ts';
import type { MemberChanges, MemberCounts } from './members/member-changes.ts';
import type { LeadershipCounts } from './invariants/leadership.ts';
import type { Violation } from '../../checkers/violation.ts';
import type { MarkCounts } from './marks/mark.ts';
import { serverHost } from '../../plan/plan.ts';
import type { Scenario } from '../../scenario/scenario.ts';
import type { BatchCounts } from './server-host.ts';
import { checkHistory } from '../../checkers/check.ts';
import { checkersOf } from '../../workloads/index.ts';
import type { Verdict } from '../../checkers/verdict.ts';
import type { HistoryEvent } from '../../history/history.ts';

/** On the healed cluster, until everybody has had the lock again: sessions that were cut off have to expire first. */
const RECOVERY_MS = 60_000;
/** After the applications were asked to stop. */
const QUIET_MS = 60_000;
/** Critical sections of each application that prove that it works again. */
const ROUNDS_AFTER_HEAL = 2;

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
  /** Leaders that were told to stop while nothing was wrong, and handed over. */
  readonly handOvers: number;
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
  const inflictor = new Inflictor(target);
  try {
    await live(cluster, target.members, inflictor);
  } catch (error) {
    // A callback of the system threw, or a promise of it was rejected and nobody handled it.
    cluster.fail('no-unexpected-error', error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  // A run that was cut short has calls without an end.
  const verdicts = cluster.violation === undefined ? judge(cluster) : [];
  const { violation, world, locks, consensus, handOvers, recorder } = cluster;
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
    handOvers: handOvers.handOvers,
    leadership: cluster.leadership.counts,
    batches: cluster.batches,
    members: target.members.counts,
    marks: cluster.marks.counts,
    struck: cluster.struck,
    begun: inflictor.begun,
    idle: inflictor.idle,
    entries: locks.appliedEntries,
    history: recorder.events,
    verdicts,
  };
}

async function live(cluster: Cluster, members: MemberChanges, inflictor: Inflictor): Promise<void> {
  const { scenario } = cluster;
  const isEarly = ({ kind }: Fault): boolean => nemesisOf(kind)?.beforeServers === true;
  inflictor.schedule(scenario.faults.filter(isEarly));
  cluster.start();
  cluster.note({ type: 'phase', phase: 'faults' });
  inflictor.schedule(scenario.faults.filter((fault) => !isEarly(fault)));
  await cluster.runUntil(() => false, scenario.durationMs);
  if (cluster.violation !== undefined) return;
  await inflictor.heal();
  cluster.note({ type: 'phase', phase: 'healed' });
  await reconnect(cluster);
  if (cluster.violation !== undefined) return;
  const silent = silencesLater(cluster);
  await recover(cluster);
  if (cluster.violation !== undefined) return;
  if (members.used) await settle(cluster, members);
  if (cluster.violation !== undefined) return;
  await stopLeader(cluster);
  if (cluster.violation !== undefined) return;
  cluster.stopApplications();
  await fallQuiet(cluster);
  if (cluster.violation !== undefined) return;
  expectNoSilence(cluster, silent());
}

/** What only the whole history shows. A verdict of 'unknown' had nothing to judge: the sums over many seeds tell whether that is rare. */
function judge(cluster: Cluster): readonly Verdict[] {
  const verdicts = checkHistory(cluster.recorder.events, { checkers: checkersOf(cluster.scenario.clients) });
  const wrong = verdicts.find((verdict) => verdict.valid === false);
  const [first] = wrong?.broken ?? [];
  if (wrong !== undefined) {
    const witness = first?.events.map((seq) => JSON.stringify(cluster.recorder.events[seq - 1])) ?? [];
    cluster.fail(`history: ${wrong.checker}`, [first?.message, ...witness].join('\n  '));
  }
  return verdicts;
}

async function recover(cluster: Cluster): Promise<void> {
  const applications = [...cluster.applications.values()];
  const enough = applications.map(({ rounds = 0 }) => rounds + ROUNDS_AFTER_HEAL);
  // One that does nothing that has rounds cannot be asked for them.
  const works = (): boolean => applications.every(({ rounds = Infinity }, n) => rounds >= (enough[n] ?? Infinity));
  if (await cluster.runUntil(works, RECOVERY_MS)) return;
  cluster.fail(
    'the-healed-cluster-works',
    `${RECOVERY_MS} ms after the last fault some applications have not had their locks again: ${describe(cluster)}`,
  );
}

async function settle(cluster: Cluster, members: MemberChanges): Promise<void> {
  if (!(await cluster.runUntil(() => members.settled, RECOVERY_MS))) {
    cluster.fail(
      'changes-of-the-members-end',
      `${RECOVERY_MS} ms after all worked again ${members.describe()}: ${describe(cluster)}`,
    );
    return;
  }
  const difference = members.difference();
  if (difference !== undefined) cluster.fail('the-members-are-those-that-the-operator-was-told', difference);
}

/** As in a rolling restart, under load. */
async function stopLeader(cluster: Cluster): Promise<void> {
  const { consensus, handOvers, servers, world } = cluster;
  const server = consensus.leader === undefined ? undefined : servers.get(serverHost(consensus.leader));
  if (server === undefined || !server.serves) return;
  handOvers.stopping(server.id);
  if (!handOvers.judging) return;
  let startedAgain = false;
  server.stop(() => {
    world.after(RESTART_AFTER_MS, () => {
      server.boot();
      startedAgain = true;
    });
  });
  if (await cluster.runUntil(() => !handOvers.judging && startedAgain && server.serves, RECOVERY_MS)) return;
  cluster.fail(
    'a-leader-that-stops-is-followed',
    `${RECOVERY_MS} ms after server ${server.id}, the leader, was told to stop nobody leads, or it has not started again: ${describe(cluster)}`,
  );
}

async function fallQuiet(cluster: Cluster): Promise<void> {
  const { locks } = cluster;
  const applications = [...cluster.applications.values()];
  const silent = (): boolean => applications.every((application) => application.idle);
  if (!(await cluster.runUntil(silent, QUIET_MS))) {
    cluster.fail('every-call-ends', `calls are open ${QUIET_MS} ms after everybody was to stop: ${describe(cluster)}`);
    return;
  }
  const left = (): boolean => locks.livingSessions > 0 || locks.queues.size > 0;
  if (!(await cluster.runUntil(() => !left(), QUIET_MS))) {
    const queues = JSON.stringify([...locks.queues]);
    cluster.fail('nothing-is-left-behind', `${locks.livingSessions} sessions and the queues ${queues} are still there`);
    return;
  }
  const machines = (): StateMachine[] => cluster.members.flatMap(({ server }) => server?.state ?? []);
  const level = (): boolean =>
    machines().length * 2 > cluster.members.length && new Set(machines().map((state) => state.appliedIndex)).size === 1;
  if (!(await cluster.runUntil(level, QUIET_MS))) {
    cluster.fail('servers-catch-up', `not all servers have applied the same entries: ${describe(cluster)}`);
    return;
  }
  const [first, ...others] = machines().map(contents);
  if (others.some((other) => other !== first)) {
    cluster.fail(
      'equal-states',
      `servers that applied the same entries answer differently: ${[first, ...others].join(' | ')}`,
    );
  }
}

/** Everything that queries show, as text. */
function contents(state: StateMachine): string {
  const nodes: unknown[] = [];
  const visit = (path: string): void => {
    const node = state.query({ type: 'get', path });
    nodes.push([path, node]);
    const listing = state.query({ type: 'children', path });
    if (listing.type !== 'children') return;
    for (const name of listing.names) visit(path === '/' ? `/${name}` : `${path}/${name}`);
  };
  visit('/');
  const limit = 1_000;
  const locks = state.query({ type: 'locks', prefix: '', after: '', limit });
  const sessions = state.query({ type: 'sessions', after: 0, limit });
  return JSON.stringify([state.appliedIndex, state.fold, state.counts, locks, sessions, nodes]);
}

function describe(cluster: Cluster): string {
  const servers = [...cluster.servers].map(([name, { host, server, damaged }]) => {
    const status = server?.status;
    const what = damaged ? 'damaged' : host.state;
    return `${name} ${what}${status === undefined ? '' : ` ${status.role} of term ${status.term}, applied ${status.appliedIndex}`}`;
  });
  const applications = [...cluster.applications.values()].map((application) => application.describe());
  return [...servers, ...applications].join('; ');
}
