/**
 * A whole system in one simulated world: the servers, the fenced store and the applications, all of them the real ones, every host
 * with faults of its own to come. Records the history, and ends the run at the first thing that is wrong.
 */

import { DEFAULT_RAFT_LIMITS, EntryType, ExpelledError, type Entry } from '@holdfast/raft';
import type { Client } from '@holdfast/client';
import type { Runtime } from '@holdfast/runtime';
import { SimWorld } from '@holdfast/runtime/sim';
import type { Output } from '@holdfast/state';
import type { HistoryEventBody } from '../../history/history.ts';
import { HistoryRecorder } from '../../history/recorder.ts';
import { Application } from '../../workloads/application.ts';
import { AnswerInvariants } from './invariants/answers.ts';
import { isVoter } from './invariants/configurations.ts';
import { ConsensusInvariants } from './invariants/consensus.ts';
import { TransferInvariants } from './invariants/transfer.ts';
import { LeadershipInvariants } from './invariants/leadership.ts';
import { LockInvariants } from './invariants/locks.ts';
import { ReplayInvariants } from './invariants/replays.ts';
import { SecretInvariants } from './invariants/secrets.ts';
import type { Violation } from '../../checkers/violation.ts';
import { Marks } from './marks/marks.ts';
import { applicationNames, replicaHosts, STORE_HOST, serverHost, serverIds } from '../../plan/plan.ts';
import { joiningIds, type Scenario } from '../../scenario/scenario.ts';
import type { Effect } from '../../nemeses/target.ts';
import { appliedWrite } from '../applied-write.ts';
import { ConfigurationRecord } from '../configuration-record.ts';
import { EffectCounts } from '../effects.ts';
import { LeadershipRecord } from '../events.ts';
import { addResumes, NO_RESUMES } from './watch-resumes.ts';
import { addBatches, clientAddress, NO_BATCHES, ServerHost, type BatchCounts } from './server-host.ts';
import { GroupClient } from './replicas/group-client.ts';
import { ReplicaHost } from './replicas/replica-host.ts';
import { starter } from './starter.ts';
import { StoreClient, StoreHost } from './store-host.ts';
import { Strangers } from './strangers.ts';

/** What a service manager waits before it starts a failed process again. */
export const RESTART_AFTER_MS = 500;

export class Cluster {
  readonly scenario: Scenario;
  readonly world: SimWorld;
  readonly recorder = new HistoryRecorder();
  readonly #answers = new AnswerInvariants((name, message) => this.fail(name, message));
  readonly #secrets = new SecretInvariants((name, message) => this.fail(name, message));
  readonly replays = new ReplayInvariants((name, message) => this.fail(name, message));
  readonly consensus: ConsensusInvariants;
  readonly transfers: TransferInvariants;
  readonly leadership: LeadershipInvariants;
  readonly marks: Marks;
  readonly locks: LockInvariants;
  readonly servers: ReadonlyMap<string, ServerHost>;
  /** By the host that they share. */
  readonly applications: ReadonlyMap<string, readonly Application[]>;
  readonly store: StoreHost;
  readonly replicas: ReadonlyMap<string, ReplicaHost>;
  /** What some server has applied, in the order of the log. */
  readonly committed: Entry[] = [];
  /** Beyond those that the world counts. */
  readonly effects = new EffectCounts();
  readonly strangers = new Strangers(this);
  readonly #configurations = new ConfigurationRecord();
  readonly #leaders = new LeadershipRecord((server, event) => this.#record(server, event));
  #violation: Violation | undefined;
  #running = true;

  constructor(scenario: Scenario) {
    this.scenario = scenario;
    const { seed, clients, locks, network, disk } = scenario;
    const { maxInflightMessages } = scenario.replication ?? DEFAULT_RAFT_LIMITS;
    this.marks = new Marks({
      electionTimeoutMs: scenario.tuning.electionTimeoutMs,
      maxInflightMessages,
      termsOf: (id) => this.consensus.logOf(id),
      committed: () => this.consensus.committedEntries,
      votersOf: (id) => this.consensus.endsOf(id).configuration.voters,
      resumes: () => [...this.servers.values()].map(({ resumes }) => resumes).reduce(addResumes, NO_RESUMES),
      retransmissionsLost: () => this.world.struck.get('retransmission-lost') ?? 0,
      apart: () => this.#apart(),
    });
    const world = new SimWorld({ seed, logger: this.marks.logger });
    this.world = world;
    world.network.setLatency(network);
    const report = (name: string, message: string): void => this.fail(name, message);
    const founders = serverIds(scenario);
    const ids = [...founders, ...joiningIds(scenario)];
    this.consensus = new ConsensusInvariants(ids, report, founders);
    this.transfers = new TransferInvariants(
      (id) => this.consensus.logOf(id),
      report,
      (id) => isVoter(this.consensus.configuration, id),
    );
    const { heartbeatMs, electionTimeoutMs } = scenario.tuning;
    this.leadership = new LeadershipInvariants(
      { heartbeatMs, electionTimeoutMs, diskStallMs: electionTimeoutMs, maxInflightMessages },
      report,
    );
    this.locks = new LockInvariants(report, (event) => this.#record('ensemble', event));
    const latency = { durable: disk };
    this.servers = new Map(
      ids.map((id) => {
        const host = world.host(serverHost(id));
        host.disk.setLatency(latency);
        return [host.name, new ServerHost(id, host, scenario, this.#watch(id))] as const;
      }),
    );
    const storeHost = world.host(STORE_HOST);
    storeHost.disk.setLatency(latency);
    this.store = new StoreHost(
      storeHost,
      (event) => this.#record(STORE_HOST, event),
      (error) => this.#unexpected(STORE_HOST, error),
    );
    this.replicas = new Map(
      replicaHosts(scenario).map((name) => {
        const host = world.host(name);
        host.disk.setLatency(latency);
        const failed = (error: unknown): void => this.#unexpected(name, error);
        return [
          name,
          new ReplicaHost(host, { plan: scenario, servers: () => this.clientAddresses(), failed }),
        ] as const;
      }),
    );
    const applicationWorld = {
      servers: () => this.clientAddresses(),
      store: (runtime: Runtime) => new StoreClient(runtime),
      group: (_client: Client, runtime: Runtime) =>
        this.replicas.size === 0 ? undefined : new GroupClient(runtime, [...this.replicas.keys()]),
      locks,
      nextCall: () => this.recorder.nextCall(),
      record: (process: string, event: HistoryEventBody) => this.#record(process, event),
      nowMs: () => world.nowMs,
      random: (name: string) => world.random(name),
      drawn: (who: string, bytes: Uint8Array) => this.#secrets.drawn(who, bytes),
      running: () => this.#running,
      mayTransfer: () => this.#mayTransfer(),
      believed: this.locks.believed.bind(this.locks),
      unexpected: (who: string, error: unknown) => this.#unexpected(who, error),
    };
    this.applications = new Map(
      clients.map((plan) => {
        const start = starter(world.host(plan.name));
        const named = applicationNames(plan).map((name) => ({ ...plan, name }));
        return [plan.name, named.map((each) => new Application(each, start, applicationWorld))] as const;
      }),
    );
  }

  get violation(): Violation | undefined {
    return this.#violation;
  }

  start(): void {
    for (const server of this.servers.values()) if (server.begun && !server.lent) server.start();
    this.store.boot();
    for (const replica of this.replicas.values()) replica.boot();
    for (const application of [...this.applications.values()].flat()) application.boot();
  }

  /** The servers that belong to the ensemble now. */
  get members(): readonly ServerHost[] {
    const { configuration, voters } = this.consensus.configuration;
    const ids = new Set<number>(configuration?.members.map(({ id }) => id) ?? voters.flat());
    return [...this.servers.values()].filter(({ id, diskLost }) => ids.has(id) && !diskLost);
  }

  /** Each effect has its count, 0 for those that nothing had. */
  get struck(): ReadonlyMap<Effect, number> {
    const refused = [...this.servers.values()].filter(({ expelled, diskLost }) => expelled && diskLost);
    return new Map([
      ...this.world.struck,
      ...this.effects.counts,
      ['lost-disk-refused', refused.length],
      ['snapshot-installed', this.consensus.snapshotsInstalled],
    ]);
  }

  /** Of all servers, in all their lives. */
  get batches(): BatchCounts {
    return [...this.servers.values()].map(({ batches }) => batches).reduce(addBatches, NO_BATCHES);
  }

  /** Of the servers that were started, which those who start anew are told. */
  clientAddresses(): readonly string[] {
    return [...this.servers.values()].filter(({ begun }) => begun).map(({ id }) => clientAddress(id));
  }

  /** Applications end what they are at and begin nothing new. */
  stopApplications(): void {
    this.#running = false;
  }

  fail(name: string, message: string): void {
    this.#violation ??= { name, message };
  }

  note(event: HistoryEventBody): void {
    this.#record('harness', event);
  }

  /** Lets time pass until the condition, or something is wrong. False when the time is over first. */
  async runUntil(condition: () => boolean, maxMs: number): Promise<boolean> {
    const endMs = this.world.nowMs + maxMs;
    const done = (): boolean => this.#violation !== undefined || this.world.nowMs >= endMs || condition();
    // Something happens at every moment of a living system, if only heartbeats.
    this.world.after(maxMs, () => {});
    await this.world.run({ until: done, maxMs: maxMs + 1 });
    return this.#violation === undefined && condition();
  }

  #watch(id: number): ConstructorParameters<typeof ServerHost>[3] {
    const { consensus, transfers, leadership, locks, marks } = this;
    return {
      observer: {
        opened: (durable) => {
          marks.opened(id, durable);
          consensus.opened(id, durable, this.#lostLog(id));
        },
        stepping: (events, nowMs) => {
          marks.stepping(id, events, nowMs);
          leadership.stepping(id, events, nowMs);
        },
        stepped: (effects, status) => {
          marks.stepped(id, effects, status);
          consensus.stepped(id, effects, status);
          this.strangers.stepped(id, status.term);
          if (this.#lostDisk(id)) return;
          this.#leaders.saw(serverHost(id), status.role === 'leader' ? status.term : undefined);
          transfers.stepped(id, status);
          leadership.stepped(id, effects, status, consensus.endsOf(id));
        },
        persisted: (seq) => {
          marks.persisted(id, seq);
          consensus.persisted(id, seq);
          leadership.persisted(id, seq);
        },
        snapshotTaken: (position) => consensus.snapshotTaken(id, position),
        sending: (to, message) => {
          consensus.sending(id, to, message);
          transfers.sending(id, message);
          leadership.sending(id, to, message);
        },
        applied: (entry, outputs, state) => {
          consensus.applied(id, entry);
          if (entry.index === this.committed.length + 1) this.#firstApplied(entry, outputs);
          this.#secrets.applied(entry);
          this.replays.applied(entry);
          locks.applied(id, entry, outputs, state);
          marks.applied(entry, state);
        },
        built: (index) => consensus.built(id, index),
        restored: (index, state) => {
          consensus.restored(id, index);
          locks.restored(id, index, state);
        },
      },
      down: () => {
        this.#leaders.saw(serverHost(id), undefined);
        consensus.down(id);
        transfers.down(id);
        leadership.down(id);
        marks.down(id);
        this.strangers.down(id);
      },
      removed: () => consensus.configuration.configuration?.retired.some((retired) => retired === id) === true,
      restartLater: (boot) => void this.world.after(RESTART_AFTER_MS, boot),
      unexpected: (error) => this.#unexpected(serverHost(id), error),
    };
  }

  #firstApplied(entry: Entry, outputs: readonly Output[]): void {
    this.committed.push(entry);
    if (this.replicas.size === 0 || entry.type !== EntryType.command) return;
    const write = appliedWrite(entry, outputs);
    const configured = write === undefined ? undefined : this.#configurations.madeBy(write);
    if (configured !== undefined) this.#record('ensemble', configured);
  }

  /** Not on the healed cluster: a new leader makes good what an earlier one has forgotten. */
  #mayTransfer(): boolean {
    if (this.#healed) return false;
    this.transfers.disturbed();
    return true;
  }

  get #healed(): boolean {
    return this.world.nowMs > this.scenario.durationMs;
  }

  #apart(): boolean {
    const hosts = this.members.map(({ host }) => host.name);
    const cut = (from: string, to: string): boolean => from !== to && this.world.network.link(from, to).isCut;
    return hosts.some((from) => hosts.some((to) => cut(from, to)));
  }

  #lostDisk(id: number): boolean {
    return this.servers.get(serverHost(id))?.diskLost === true;
  }

  /** Whether a fault explains that its log has lost something. */
  #lostLog(id: number): boolean {
    return this.servers.get(serverHost(id))?.bitFlipped === true;
  }

  #unexpected(who: string, error: unknown): void {
    if (error instanceof ExpelledError) {
      this.fail('no-member-is-expelled', `${who}, which nobody has removed: ${error.message}`);
      return;
    }
    const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.fail('no-unexpected-error', `${who}: ${what}`);
  }

  #record(process: string, event: HistoryEventBody): void {
    this.recorder.record(process, this.world.nowMs, event);
    this.#answers.recorded(process, event, this.#healed);
  }
}
