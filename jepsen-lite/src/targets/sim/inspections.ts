/**
 * What is judged in a simulated run once everything has healed, by looking into servers and network: that all servers are connected, that
 * changes of the members end, that a leader that is told to stop transfers leadership, and that nothing is left behind.
 */

import type { StateMachine } from '@holdfast/state';
import { serverHost } from '../../plan/plan.ts';
import { QUIET_MS, RECOVERY_MS } from '../phases.ts';
import { RESTART_AFTER_MS, type Cluster } from './cluster.ts';
import { expectNoSilence, reconnect, silencesLater } from './connections.ts';
import { describeReplicas, endReplicas } from './replicas/inspection.ts';
import type { MemberChanges } from '../members/member-changes.ts';

/** At most, with names and data as workloads have them. */
const SNAPSHOT_BYTES_A_NODE = 400;

export class Inspections {
  readonly #cluster: Cluster;
  readonly #members: MemberChanges;
  #silences: ReturnType<typeof silencesLater> | undefined;

  constructor(cluster: Cluster, members: MemberChanges) {
    this.#cluster = cluster;
    this.#members = members;
  }

  async canary(): Promise<void> {
    await reconnect(this.#cluster);
    if (this.#cluster.violation === undefined) this.#silences = silencesLater(this.#cluster);
  }

  async afterRecovery(): Promise<void> {
    if (this.#members.used) await endChanges(this.#cluster, this.#members);
    if (this.#cluster.violation === undefined) await stopLeader(this.#cluster);
  }

  async afterQuiet(): Promise<void> {
    await endReplicas(this.#cluster);
    if (this.#cluster.violation === undefined) await leaveNothing(this.#cluster);
    if (this.#cluster.violation === undefined) expectNoSilence(this.#cluster, this.#silences?.());
  }
}

async function endChanges(cluster: Cluster, members: MemberChanges): Promise<void> {
  if (!(await cluster.runUntil(() => members.stable, RECOVERY_MS))) {
    cluster.fail(
      'changes-of-the-members-end',
      `${RECOVERY_MS} ms after all worked again ${members.describe()}: ${describe(cluster)}`,
    );
    return;
  }
  const difference = members.difference();
  if (difference !== undefined) cluster.fail('the-members-are-those-that-the-operator-knows', difference);
}

/** As in a rolling restart, under load. */
async function stopLeader(cluster: Cluster): Promise<void> {
  const { consensus, transfers, servers, world } = cluster;
  const server = consensus.leader === undefined ? undefined : servers.get(serverHost(consensus.leader));
  if (server === undefined || !server.serves) return;
  transfers.stopping(server.id);
  if (!transfers.judging) return;
  const { life } = server;
  let stopped = false;
  let startedAgain = false;
  server.stop(() => {
    stopped = true;
    world.after(RESTART_AFTER_MS, () => {
      server.boot();
      startedAgain = true;
    });
  });
  // A disk error that was drawn long before may strike only now: then it has not stopped, and is judged as whoever ends of one.
  const brokenOff = (): boolean => !stopped && server.life !== life;
  const followed = (): boolean => !transfers.judging && startedAgain && server.serves;
  if (await cluster.runUntil(() => brokenOff() || followed(), RECOVERY_MS)) {
    if (brokenOff()) transfers.disturbed();
    return;
  }
  cluster.fail(
    'a-leader-that-stops-is-followed',
    `${RECOVERY_MS} ms after server ${server.id}, the leader, was asked to stop nobody leads, or it has not started again: ${describe(cluster)}`,
  );
}

/** No session, wait or hold is left, and all members have the same. */
async function leaveNothing(cluster: Cluster): Promise<void> {
  const { locks } = cluster;
  const left = (): boolean => locks.livingSessions > 0 || locks.queues.size > 0;
  if (!(await cluster.runUntil(() => !left(), QUIET_MS))) {
    const queues = JSON.stringify([...locks.queues]);
    cluster.fail('nothing-is-left-behind', `${locks.livingSessions} sessions and the queues ${queues} are still there`);
    return;
  }
  const machines = (): StateMachine[] => cluster.members.flatMap(({ server }) => server?.state ?? []);
  const level = (): boolean =>
    machines().length * 2 > cluster.members.length && new Set(machines().map((state) => state.appliedIndex)).size === 1;
  if (!(await cluster.runUntil(level, QUIET_MS + transferMs(cluster)))) {
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

/** For snapshots to all who lag, at the pace that was drawn: one of them may take longer than everything else. */
function transferMs({ members, scenario }: Cluster): number {
  const nodes = Math.max(0, ...members.map(({ server }) => server?.state?.counts.nodes ?? 0));
  const { bytesPerSecond = Infinity } = scenario.snapshots ?? {};
  return (1_000 * members.length * nodes * SNAPSHOT_BYTES_A_NODE) / bytesPerSecond;
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
  return JSON.stringify([state.appliedIndex, state.digest, state.counts, locks, sessions, nodes]);
}

export function describe(cluster: Cluster): string {
  const servers = [...cluster.servers].map(([name, { host, server, damaged }]) => {
    const status = server?.status;
    const what = damaged ? 'damaged' : host.state;
    return `${name} ${what}${status === undefined ? '' : ` ${status.role} of term ${status.term}, applied ${status.appliedIndex}`}`;
  });
  const applications = [...cluster.applications.values()].flat().map((application) => application.describe());
  return [...servers, ...describeReplicas(cluster), ...applications].join('; ');
}
