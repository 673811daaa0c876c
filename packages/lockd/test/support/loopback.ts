/**
 * Several servers' machines over a log that is agreed at once: elections are the test's, commits come with the next turn, and
 * messages between servers arrive with the next turn as well. Everything that consensus may do to a machine can be ordered here
 * one by one.
 */

import {
  EntryType,
  PEER_FEATURES,
  logIndex,
  serverId,
  term,
  type Entry,
  type LogIndex,
  type MembershipChange,
  type MembershipOutcome,
  type PeerInfo,
  type RejectReason,
  type ReplicaHandle,
  type ReplicaStatus,
  type Role,
  type ServerId,
  type TransferResult,
} from '@holdfast/raft';
import { ClientFeature, PROTOCOL_VERSION, type FeatureSet } from '@holdfast/protocol';
import { silentLogger, type Random } from '@holdfast/runtime';
import { LockMachine } from '../../src/machine/lock-machine.ts';
import { ManualClock } from './manual-clock.ts';
import { TestClient, type ConnectionFaults } from './test-client.ts';

export const CLUSTER_ID = 'test';
export const ELECTION_TIMEOUT_MS = 1_000;

export interface PeerPayload {
  readonly from: number;
  readonly to: number;
  readonly payload: Uint8Array;
}

/** Of all its servers; by default as in production. */
export interface LoopbackOptions {
  /** How long containers are empty before they go. */
  readonly containerCheckMs?: number;
  /** How often all must offer the next state version before it is raised. */
  readonly stateUpgradeChecks?: number;
  /** They are founders, and their logs are empty. */
  readonly founder?: boolean;
}

export class LoopbackEnsemble {
  readonly clock = new ManualClock();
  readonly servers: readonly LoopbackServer[];
  readonly log: Entry[] = [];
  /** Everything that servers said to each other. */
  readonly payloads: PeerPayload[] = [];
  leader = 0;
  term = 0;
  /** Who led last, and stepped down since it heard no quorum. */
  quorumLost = 0;
  /** While true, proposals of the leader wait: neither committed nor refused. */
  holdCommits = false;
  /** While true, the leader's reads and renewals wait for their quorum. */
  holdReads = false;
  /** What the leader refuses proposals with. */
  rejectWith: RejectReason | undefined;
  /** What a server that led says of the next term. */
  successor = 0;
  readonly #cut = new Set<string>();
  readonly #delayed = new Map<string, (() => void)[]>();

  readonly options: LoopbackOptions;

  constructor(count = 1, options: LoopbackOptions = {}) {
    this.options = options;
    this.servers = Array.from({ length: count }, (_, n) => new LoopbackServer(this, serverId(n + 1)));
    for (const server of this.servers) server.machine.bind(server);
  }

  server(id: number): LoopbackServer {
    const server = this.servers[id - 1];
    if (server === undefined) throw new Error(`there is no server ${id}`);
    return server;
  }

  /** A new leader, known everywhere, whose first entry is committed. */
  elect(id: number): void {
    this.term += 1;
    this.leader = id;
    this.append(EntryType.noop, new Uint8Array());
    for (const server of this.servers) server.schedule();
    this.clock.runChecks();
  }

  /** Nobody leads; what was proposed and not committed is lost. `silent`: the leader steps down since it hears no quorum. */
  depose(silent = false): void {
    this.term += 1;
    this.quorumLost = silent ? this.leader : 0;
    this.leader = 0;
    for (const server of this.servers) server.dropProposals();
    for (const server of this.servers) server.schedule();
    this.clock.runChecks();
  }

  append(type: EntryType, data: Uint8Array): void {
    this.log.push({ index: logIndex(this.log.length + 1), term: term(this.term), type, data });
    for (const server of this.servers) server.schedule();
  }

  /** Messages from one server to another are lost, and sending says so. */
  cut(from: number, to: number): void {
    this.#cut.add(`${from}>${to}`);
  }

  heal(): void {
    this.#cut.clear();
  }

  isCut(from: number, to: number): boolean {
    return this.#cut.has(`${from}>${to}`);
  }

  /** Messages from one server to another are on their way until `release`. */
  delay(from: number, to: number): void {
    this.#delayed.set(`${from}>${to}`, []);
  }

  release(from: number, to: number): void {
    const arrivals = this.#delayed.get(`${from}>${to}`) ?? [];
    this.#delayed.delete(`${from}>${to}`);
    for (const arrive of arrivals) arrive();
  }

  deliver(from: ServerId, to: ServerId, payload: Uint8Array): void {
    const arrive = (): void => this.server(to).receive(from, payload);
    const delayed = this.#delayed.get(`${from}>${to}`);
    if (delayed === undefined) arrive();
    else delayed.push(arrive);
  }
}

export class LoopbackServer implements ReplicaHandle {
  readonly id: ServerId;
  machine: LockMachine;
  readonly disk = { freeBytes: 2 ** 40, reserveBytes: 2 ** 27, low: false };
  /** How often the machine has asked for a successor. */
  transfers = 0;
  /** The last transfer that it was asked for; the test decides what becomes of it. */
  asked: { readonly target: ServerId | undefined; ended(result: TransferResult): void } | undefined;
  /** Changes of the members that were asked for; the test decides what becomes of them. */
  readonly changes: { readonly change: MembershipChange; ended(outcome: MembershipOutcome | 'stopped'): void }[] = [];
  /** What it has said of itself in its hellos; other servers see it so. */
  features: FeatureSet = PEER_FEATURES;
  connected = true;
  /** It has not heard of any configuration. */
  joins = false;
  readonly failures: unknown[] = [];
  /** Of each process that is started from now on. */
  watchHistoryBytes: number | undefined;
  eagerCommit = false;
  /** While true it applies nothing. */
  lagging = false;
  readonly #ensemble: LoopbackEnsemble;
  readonly #random = countingRandom();
  #status: ReplicaStatus;
  #applied = 0;
  #scheduled = false;
  #proposals: Uint8Array[] = [];
  #reads: ((leads: boolean) => void)[] = [];
  #inbox: { readonly from: ServerId; readonly payload: Uint8Array }[] = [];
  #disconnected: ServerId[] = [];

  constructor(ensemble: LoopbackEnsemble, id: ServerId) {
    this.#ensemble = ensemble;
    this.id = id;
    this.#status = this.#readStatus();
    this.machine = this.#process();
  }

  get status(): ReplicaStatus {
    return this.#status;
  }

  get peers(): readonly PeerInfo[] {
    if (this.joins) return [];
    return this.#ensemble.servers.map(({ id, features, connected }, n) => ({
      id,
      peerAddress: `peer-${n + 1}:1`,
      clientAddress: `client-${n + 1}:1`,
      features,
      connected,
      role: 'voter' as const,
    }));
  }

  get pendingReads(): number {
    return this.#reads.length;
  }

  /** A client's connection, before its hello. */
  dial(faults: ConnectionFaults = {}): TestClient {
    const client = new TestClient(this.#ensemble.clock, faults);
    this.machine.accept(client.connection);
    return client;
  }

  /** A client that has been welcomed and understands watches. */
  connectWatcher(faults: ConnectionFaults = {}): TestClient {
    const client = this.dial(faults);
    client.hello(CLUSTER_ID, PROTOCOL_VERSION, ClientFeature.watches);
    client.take();
    return client;
  }

  /** A client that has been welcomed. */
  connect(faults: ConnectionFaults = {}): TestClient {
    const client = this.dial(faults);
    client.hello(CLUSTER_ID);
    client.take();
    return client;
  }

  propose(data: Uint8Array): void {
    this.#proposals.push(data);
    this.schedule();
  }

  readIndex(callback: (result: LogIndex | RejectReason) => void): void {
    const index = logIndex(this.#ensemble.log.length);
    this.#reads.push((leads) => callback(leads ? index : 'not-leader'));
    this.schedule();
  }

  /** The quorum has answered what was asked first, and nothing else, however long the rest is held. */
  confirmOldestRead(): void {
    const [oldest] = this.#reads.splice(0, 1);
    if (oldest === undefined) throw new Error(`nobody at server ${this.id} asked for a quorum round`);
    oldest(true);
    this.schedule();
  }

  changeMembership(change: MembershipChange, ended: (outcome: MembershipOutcome | 'stopped') => void): void {
    this.changes.push({ change, ended });
  }

  transferLeadership(target?: ServerId, ended: (result: TransferResult) => void = () => {}): void {
    this.transfers += 1;
    this.asked = { target, ended };
  }

  sendToPeer(peer: ServerId, payload: Uint8Array): boolean {
    if (this.#ensemble.isCut(this.id, peer)) return false;
    this.#ensemble.payloads.push({ from: this.id, to: peer, payload });
    this.#ensemble.deliver(this.id, peer, payload);
    return true;
  }

  receive(from: ServerId, payload: Uint8Array): void {
    // A frame's memory is used again: whoever keeps a view of it sees that here.
    this.#inbox.push({ from, payload: new Uint8Array(payload) });
    this.schedule();
  }

  setEagerCommit(eager: boolean): void {
    this.eagerCommit = eager;
  }

  /** Takes over another server's state, in place of the entries that it has not applied itself. */
  async install(from: LoopbackServer): Promise<void> {
    const snapshot = from.machine.beginSnapshot();
    const index = logIndex(from.#applied);
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let piece = snapshot.next(100); piece !== undefined; piece = snapshot.next(100)) yield piece;
    }
    const restored = await this.machine.restore(index, pieces());
    restored.adopt();
    this.#applied = index;
    this.schedule();
  }

  /** Another process of this server, which has applied what is committed and knows the leader; the others learn of nothing. */
  restart(): void {
    this.#inbox = [];
    this.#proposals = [];
    this.#reads = [];
    this.#applied = 0;
    this.machine = this.#process();
    this.machine.bind(this);
    this.machine.statusChanged(this.#status);
    this.schedule();
    this.#ensemble.clock.runChecks();
  }

  dropProposals(): void {
    this.#proposals = [];
  }

  /** What `peer` had sent is lost, and the connection with it. */
  losePeer(peer: number): void {
    this.#inbox = this.#inbox.filter((message) => message.from !== peer);
    this.#disconnected.push(serverId(peer));
    this.schedule();
  }

  /** So that the next turn sees it, though nothing else happens. */
  schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#ensemble.clock.afterPoll(() => {
      this.#scheduled = false;
      this.#turn();
    });
  }

  #process(): LockMachine {
    const { clock, options } = this.#ensemble;
    return new LockMachine(
      {
        serverId: this.id,
        clusterId: CLUSTER_ID,
        electionTimeoutMs: ELECTION_TIMEOUT_MS,
        ...options,
        watchHistoryBytes: this.watchHistoryBytes,
      },
      {
        clock,
        random: this.#random,
        logger: silentLogger,
        disk: this.disk,
        fatal: (error) => this.failures.push(error),
      },
    );
  }

  #turn(): void {
    for (const peer of this.#disconnected.splice(0)) this.machine.peerDisconnected(peer);
    for (const { from, payload } of this.#inbox.splice(0)) {
      this.machine.peerMessage(from, payload);
      payload.fill(0xee);
    }
    this.#refreshStatus();
    this.#decideProposals();
    this.#answerReads();
    while (!this.lagging && this.#applied < this.#ensemble.log.length) {
      const entry = this.#ensemble.log[this.#applied];
      if (entry === undefined) break;
      this.machine.apply(entry);
      this.#applied += 1;
    }
    this.#refreshStatus();
    this.machine.flush();
  }

  #decideProposals(): void {
    const { leader, holdCommits, rejectWith } = this.#ensemble;
    if (leader === this.id && holdCommits) return;
    for (const data of this.#proposals.splice(0)) {
      if (leader !== this.id) this.machine.proposalRejected(data, 'not-leader');
      else if (rejectWith !== undefined) this.machine.proposalRejected(data, rejectWith);
      else this.#ensemble.append(EntryType.command, data);
    }
  }

  #answerReads(): void {
    const { leader, holdReads } = this.#ensemble;
    if (leader === this.id && holdReads) return;
    for (const answer of this.#reads.splice(0)) answer(leader === this.id);
  }

  #readStatus(): ReplicaStatus {
    const { leader, term: currentTerm, log } = this.#ensemble;
    const role: Role = leader === this.id ? 'leader' : leader === 0 ? 'pre-candidate' : 'follower';
    const last = logIndex(log?.length ?? 0);
    const noop = log?.findLastIndex((entry) => entry.type === EntryType.noop) ?? -1;
    return {
      role,
      term: term(currentTerm),
      leader: leader as ServerId,
      voteBanned: false,
      quorumLost: leader === 0 && this.#ensemble.quorumLost === this.id,
      commitIndex: last,
      appliedIndex: logIndex(this.#applied),
      lastIndex: last,
      ready: role === 'leader' && this.#applied > noop,
      successor: (role === 'leader' ? 0 : this.#ensemble.successor) as ServerId,
    };
  }

  #refreshStatus(): void {
    const before = this.#status;
    this.#status = this.#readStatus();
    const { role, term: currentTerm, leader, ready } = this.#status;
    const same =
      before.role === role && before.term === currentTerm && before.leader === leader && before.ready === ready;
    if (!same) this.machine.statusChanged(this.#status);
  }
}

export function countingRandom(): Random {
  let next = 0;
  return {
    next: () => 0.5,
    integer: (bound) => (next += 1_000) % bound,
    bytes: (length) => new Uint8Array(length).fill((next += 1) % 256),
  };
}
