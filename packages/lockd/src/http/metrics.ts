/**
 * Prometheus metrics of one server, in a registry of its own. Nothing here costs the hot path anything: values are read when
 * somebody asks. The library is loaded with the server, though that takes a while: a request that loads code can fail, and would fail
 * a server that serves.
 */

import type { Replica } from '@holdfast/raft';
import type { ListenerLoad } from '@holdfast/runtime';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import type { LockMachine } from '../machine/lock-machine.ts';
import { addListenerMetrics } from './listener-metrics.ts';
import { StageMetric } from './stage-metric.ts';

const ROLES = ['follower', 'pre-candidate', 'candidate', 'leader'] as const;

export interface MetricsOptions {
  readonly id: number;
  /** With those of the process: its memory, processor time, collections of garbage. */
  readonly ofProcess: boolean;
  /** How often the page of these has been rendered. */
  readonly renderings: () => number;
  /** Of the clients' port. @default nothing is shown of it */
  readonly load?: () => ListenerLoad | undefined;
}

export function createMetrics(
  { id, ofProcess, renderings, load }: MetricsOptions,
  machine: LockMachine,
  replica: () => ReplicaFigures | undefined,
): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ server: String(id) });
  const registers = [registry];

  const gauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  };
  const counter = (name: string, help: string, read: () => number): void => {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  };
  const { counters, state, connections, clients } = machine;

  new Gauge({
    name: 'holdfast_role',
    help: '1 for the role that the server has, 0 for the others',
    labelNames: ['role'],
    registers,
    collect() {
      for (const role of ROLES) this.set({ role }, machine.status.role === role ? 1 : 0);
    },
  });
  gauge('holdfast_term', 'The current term', () => machine.status.term);
  gauge('holdfast_leader', 'The leader as this server knows it; 0 for none', () => machine.status.leader);
  gauge('holdfast_healthy', '1 while the server serves its role', () => (machine.availability.healthy ? 1 : 0));
  gauge('holdfast_commit_index', 'The highest index known to be committed', () => machine.status.commitIndex);
  gauge('holdfast_applied_index', 'The highest applied index', () => state.appliedIndex);
  gauge('holdfast_last_index', 'The last index of the log', () => machine.status.lastIndex);
  gauge(
    'holdfast_vote_banned',
    '1 while this server may not vote: its log has lost what it had acknowledged, and no leader has sent all of it again',
    () => Number(machine.status.voteBanned),
  );
  gauge('holdfast_sessions', 'Sessions of the ensemble', () => state.counts.sessions);
  gauge('holdfast_locks', 'Locks that somebody holds or waits for, or that are delayed', () => state.counts.locks);
  gauge(
    'holdfast_locks_delayed',
    'Locks that nobody is granted for a while, since a holder was lost',
    () => state.delayedLocks,
  );
  gauge('holdfast_nodes', 'Nodes of the tree', () => state.counts.nodes);
  gauge('holdfast_node_data_bytes', 'Data of all nodes', () => state.counts.dataBytes);
  gauge('holdfast_node_name_bytes', 'Names of all nodes', () => state.counts.nameBytes);
  gauge('holdfast_reply_bytes', 'Remembered answers that no client has acknowledged', () => state.replyBytes);
  gauge('holdfast_connections', 'Client connections of this server', () => connections.size);
  gauge('holdfast_bound_sessions', 'Sessions served by this server', () => clients.boundSessions);
  gauge(
    'holdfast_unanswered_request_bytes',
    'Bytes of requests that are not answered',
    () => clients.unansweredRequestBytes,
  );
  counter(
    'holdfast_requests_over_share_total',
    'Times that a connection was refused more than its share of those',
    () => counters.requestsOverShare,
  );
  gauge('holdfast_unread_bytes', 'Bytes that clients were sent and have not read', () => connections.unreadBytes);
  gauge('holdfast_reads_ready', 'Reads that wait for nothing but their turn', () => machine.readsReady);
  counter('holdfast_read_turns_cut_total', 'Turns that left reads to the next one', () => counters.readTurnsCut);
  gauge('holdfast_parked_bytes', 'Bytes of requests that wait for a leader to be known', () => machine.parkedBytes);

  gauge(
    'holdfast_admitted_clients',
    'Clients that were welcomed and whose attach is not answered',
    () => machine.crowd.underWay,
  );
  gauge('holdfast_clients_spread_ms', 'Over so long clients spread their first dials', () => machine.spreadMs);

  gauge('holdfast_disk_free_bytes', 'Free bytes of the disk; NaN while unknown', () => machine.disk.freeBytes ?? NaN);
  gauge('holdfast_disk_reserve_bytes', 'Free bytes below which the disk is low', () => machine.disk.reserveBytes);
  gauge('holdfast_disk_low', '1 while the disk is low', () => (machine.disk.low ? 1 : 0));
  gauge(
    'holdfast_writes_refused_for',
    'The server for whose disk writes are refused; 0 for none',
    () => machine.diskGuard.shortOf,
  );

  new Counter({
    name: 'holdfast_requests_total',
    help: 'Requests of clients of this server, by outcome; refused and resent ones come again',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset();
      this.inc({ outcome: 'received' }, counters.requestsReceived);
      this.inc({ outcome: 'replied' }, counters.requestsReplied);
      this.inc({ outcome: 'refused' }, counters.requestsRefused);
    },
  });
  new Counter({
    name: 'holdfast_reads_total',
    help: 'Reads of clients of this server, by outcome',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset();
      this.inc({ outcome: 'answered' }, counters.readsAnswered);
      this.inc({ outcome: 'refused' }, counters.readsRefused);
    },
  });
  new Counter({
    name: 'holdfast_goodbyes_total',
    help: 'Connections that this server closed, by error code',
    labelNames: ['code'],
    registers,
    collect() {
      this.reset();
      for (const [code, count] of counters.goodbyes) this.inc({ code }, count);
    },
  });
  counter('holdfast_resends_total', 'Times that a client was asked to send again', () => counters.resends);
  counter('holdfast_attaches_total', 'Attaches asked for at this server', () => counters.attaches);
  counter(
    'holdfast_clients_sent_away_total',
    'Clients that were sent away with a time to come again, since many came at once',
    () => machine.crowd.sentAway,
  );
  counter(
    'holdfast_deadlines_moved_total',
    'Times that a session got more time as leader, since many were coming back',
    () => machine.crowd.extensions,
  );
  counter('holdfast_entries_applied_total', 'Entries applied since the start', () => counters.entriesApplied);
  counter('holdfast_entries_proposed_total', 'Entries proposed as leader', () => counters.entriesProposed);
  counter(
    'holdfast_proposals_batched_total',
    'Proposals that waited as leader for clients just answered',
    () => counters.proposalsBatched,
  );
  counter('holdfast_batches_complete_total', 'Times that all came who were waited for', () => counters.batchesComplete);
  counter('holdfast_batches_late_total', 'Times that somebody did not come in time', () => counters.batchesLate);
  counter('holdfast_entries_forwarded_total', 'Entries forwarded to the leader', () => counters.entriesForwarded);
  counter(
    'holdfast_entries_received_total',
    'Entries that other servers forwarded',
    () => counters.entriesForwardedHere,
  );
  counter('holdfast_disk_refusals_total', 'Requests refused as leader for lack of disk', () => counters.diskRefusals);
  counter('holdfast_heartbeats_total', 'Heartbeats of sessions received', () => counters.heartbeatsReceived);
  counter('holdfast_renewals_total', 'Heartbeats acknowledged', () => counters.heartbeatsAcknowledged);
  counter('holdfast_sessions_expired_total', 'Sessions whose expiry was applied', () => counters.sessionsExpired);
  counter(
    'holdfast_unused_nodes_removed_total',
    'Empty containers and nodes past their time to live that were removed',
    () => counters.unusedNodesRemoved,
  );
  counter(
    'holdfast_deadlocked_waits_ended_total',
    'Waits that were ended to break a deadlock, as their acquires had asked',
    () => counters.deadlockedWaitsEnded,
  );
  counter(
    'holdfast_deadlock_searches_cut_total',
    'Entries whose deadlocks would have taken too much to find, and were left',
    () => counters.deadlockSearchesCut,
  );
  gauge('holdfast_watches', 'Watches of clients of this server', () => machine.watches.size);
  gauge(
    'holdfast_watchers_slow',
    'Clients told nothing of what they watch until they read',
    () => machine.watches.slow,
  );
  gauge(
    'holdfast_watch_history_span',
    'Indexes whose changes are remembered for watches of clients that come back',
    () => state.appliedIndex - machine.watches.history.begin,
  );
  gauge('holdfast_watch_history_bytes', 'Memory of those changes', () => machine.watches.history.bytes);
  counter('holdfast_watch_events_total', 'Events told to watches', () => counters.watchEvents);
  counter(
    'holdfast_watches_missed_total',
    'Times that recursive watches of a client were told that they missed events',
    () => counters.watchesMissed,
  );
  new Counter({
    name: 'holdfast_watches_resumed_total',
    help: 'Watch messages that went on from an earlier index, by what could be told of it',
    labelNames: ['from'],
    registers,
    collect() {
      this.reset();
      this.inc({ from: 'history' }, counters.watchesFromHistory);
      this.inc({ from: 'traces' }, counters.watchesBehindHistory);
    },
  });
  counter('holdfast_client_frames_in_total', 'Frames from clients', () => counters.framesIn);
  counter('holdfast_client_frames_out_total', 'Frames to clients', () => counters.framesOut);
  counter('holdfast_metrics_renderings_total', 'Renderings of this page, one a second at most', renderings);
  addReplicaMetrics(registry, replica);
  if (load !== undefined) addListenerMetrics(registry, load);
  if (ofProcess) collectDefaultMetrics({ register: registry });
  return registry;
}

/** What the replica alone knows. */
type ReplicaFigures = Pick<
  Replica,
  | 'logWrites'
  | 'stageHistograms'
  | 'diskStalls'
  | 'elections'
  | 'transferCounts'
  | 'snapshotCounters'
  | 'refusalsHeard'
  | 'silences'
>;

/** There is no replica yet when the clients' port opens. */
function addReplicaMetrics(registry: Registry, replica: () => ReplicaFigures | undefined): void {
  const registers = [registry];
  new Counter({
    name: 'holdfast_snapshots_total',
    help: 'Snapshots since the start: taken, installed, refused by the state machine, and overtaken by the log on their way',
    labelNames: ['how'],
    registers,
    collect() {
      this.reset();
      this.inc({ how: 'taken' }, replica()?.snapshotCounters.taken ?? 0);
      this.inc({ how: 'installed' }, replica()?.snapshotCounters.installed ?? 0);
      this.inc({ how: 'refused' }, replica()?.snapshotCounters.refused ?? 0);
      this.inc({ how: 'overtaken' }, replica()?.snapshotCounters.overtaken ?? 0);
    },
  });
  new Gauge({
    name: 'holdfast_disk_stalls',
    help: '1 while the disk hangs: no write to the log has ended for an election timeout',
    registers,
    collect() {
      this.set(replica()?.diskStalls === true ? 1 : 0);
    },
  });
  new Counter({
    name: 'holdfast_peer_refusals_heard_total',
    help: "Dials at which whoever has a peer's address did not let this server in",
    registers,
    collect() {
      this.reset();
      this.inc(replica()?.refusalsHeard ?? 0);
    },
  });
  new Counter({
    name: 'holdfast_peer_silences_total',
    help: 'Connections with peers that were closed because nothing was heard on them for two election timeouts',
    registers,
    collect() {
      this.reset();
      this.inc(replica()?.silences ?? 0);
    },
  });
  new Counter({
    name: 'holdfast_elections_total',
    help: 'Elections that this server has begun, by what made it stand',
    labelNames: ['cause'],
    registers,
    collect() {
      this.reset();
      for (const [cause, count] of Object.entries(replica()?.elections ?? {})) this.inc({ cause }, count);
    },
  });
  new Counter({
    name: 'holdfast_leadership_transfers_total',
    help: 'Leadership transfers by this server, by outcome',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset();
      for (const [outcome, count] of replica()?.transferCounts ?? []) this.inc({ outcome }, count);
    },
  });
  registry.registerMetric(new StageMetric(() => replica()?.stageHistograms));
  new Counter({
    name: 'holdfast_log_writes_total',
    help: 'Durable writes to the log since the start',
    registers,
    collect() {
      this.reset();
      this.inc(replica()?.logWrites ?? 0);
    },
  });
}
