/**
 * What a replica replicates here: applies committed entries to the locks' state, answers this server's clients, and leads the
 * sessions while this server leads. Wires the concepts of the folders beside it to each other and to the replica's turn; each rule is in
 * the concept's own file.
 */

import {
  CommandType,
  NO_FEATURES,
  hasFeature,
  type ErrorCode,
  type FeatureSet,
  type Member,
  type Reply,
} from '@holdfast/protocol';
import {
  EntryType,
  ExpelledError,
  PeerFeature,
  type Entry,
  type LogIndex,
  type MachineSnapshot,
  type PeerInfo,
  type RejectReason,
  type ReplicaHandle,
  type ReplicaMachine,
  type ReplicaStatus,
  type ServerId,
  type SnapshotBytes,
} from '@holdfast/raft';
import type { Clock, Connection, Logger, Random } from '@holdfast/runtime';
import { decodeEntryHeader, type StateMachine } from '@holdfast/state';
import { Attaches } from './sessions/attaches.ts';
import { Availability } from './health/availability.ts';
import { ClientConnections } from './clients/client-connections.ts';
import { ClientMessages } from './clients/client-messages.ts';
import { ServerCounters } from './counters.ts';
import { DiskGuard } from './health/disk-guard.ts';
import type { OwnDisk } from './health/disk-space.ts';
import { DivergenceCheck } from './health/divergence.ts';
import { createKeyedState } from './keyed-state.ts';
import { LeadershipTransfer } from './members/leadership-transfer.ts';
import { LEAVE_WAIT_MS } from './limits.ts';
import { MembershipWishes } from './members/membership-wishes.ts';
import { OutputRouting } from './clients/output-routing.ts';
import { PeerInbox } from './peers/peer-inbox.ts';
import { encodePeerMessages } from './peers/peer-message.ts';
import { PeerOutbox } from './peers/peer-outbox.ts';
import { Proposals } from './requests/proposals.ts';
import { Reads } from './requests/reads.ts';
import { Renewals } from './sessions/renewals.ts';
import type { ServerObserver } from './server-observer.ts';
import { SessionExpiry } from './sessions/session-expiry.ts';
import { SkippedEntries } from './clients/skipped-entries.ts';
import { StateUpgrade } from './members/state-upgrade.ts';

const LOST = encodePeerMessages([{ type: 'lost' }]);

export interface LockMachineOptions {
  readonly serverId: ServerId;
  readonly clusterId: string;
  readonly electionTimeoutMs: number;
}

export interface LockMachineDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly disk: OwnDisk;
  readonly observer?: Partial<ServerObserver> | undefined;
  /** The replica has stopped, or this server must: the process has to end. Called at most once. */
  fatal(error: unknown): void;
  /** The ensemble goes on without this server: it should stop. @default fatal */
  removed?(): void;
}

export class LockMachine implements ReplicaMachine {
  readonly counters = new ServerCounters();
  readonly state: StateMachine;
  readonly connections: ClientConnections;
  readonly availability: Availability;
  readonly diskGuard: DiskGuard;
  readonly #options: LockMachineOptions;
  readonly #deps: LockMachineDeps;
  readonly #proposals: Proposals;
  readonly #attaches: Attaches;
  readonly #expiry: SessionExpiry;
  readonly #renewals: Renewals;
  readonly #reads: Reads;
  readonly #peers: PeerOutbox;
  readonly #divergence: DivergenceCheck;
  readonly #routing: OutputRouting;
  readonly #skipped: SkippedEntries;
  readonly #clientMessages: ClientMessages;
  readonly #inbox: PeerInbox;
  readonly #transfer: LeadershipTransfer;
  readonly #membership: MembershipWishes;
  readonly #upgrade: StateUpgrade;
  #replica: ReplicaHandle | undefined;
  #removed = false;
  #turnScheduled = false;
  /** Between the first apply of a replica's turn and its flush, which will come. */
  #applying = false;

  constructor(options: LockMachineOptions, deps: LockMachineDeps) {
    this.#options = options;
    this.#deps = deps;
    const { serverId } = options;
    const { clock, random, logger } = deps;
    this.state = createKeyedState(random);
    const counters = this.counters;
    const handle = (): ReplicaHandle => this.#handle();
    const wake = (): void => this.#wake();
    const appliedIndex = (): number => this.state.appliedIndex;
    this.connections = new ClientConnections({
      clock,
      logger,
      counters,
      wake,
      message: (connection, message) => this.#clientMessages.received(connection, message),
      closed: (connection) => this.#attaches.closed(connection),
      boundChanged: (any) => this.#handle().setEagerCommit(any),
    });
    this.#peers = new PeerOutbox(handle, (peer) => this.#undelivered(peer), wake);
    this.#expiry = new SessionExpiry({ clock, logger, state: this.state, propose: (entry) => this.#propose(entry) });
    const { leases } = this.#expiry;
    this.diskGuard = new DiskGuard({
      serverId,
      own: deps.disk,
      clock,
      logger,
      counters,
      handle,
      say: (peer, message) => void this.#handle().sendToPeer(peer, encodePeerMessages([message])),
    });
    this.#proposals = new Proposals({
      serverId,
      clock,
      logger,
      counters,
      peers: this.#peers,
      handle,
      wake,
      admit: (entry) => this.diskGuard.admit(entry),
      renew: (session) => leases.renew(session),
      lost: (code) => this.#submittedLost(code),
      refused: (entry, code) => this.#entryRefused(entry, code),
    });
    this.#attaches = new Attaches({
      serverId,
      firstCorrelation: 1 + random.integer(2 ** 40),
      clock,
      counters,
      connections: this.connections,
      proposals: this.#proposals,
      appliedIndex,
      refusal: (secret) => this.#sessionRefusal(secret),
    });
    this.#renewals = new Renewals({ serverId, counters, peers: this.#peers, leases, handle, wake });
    const query = this.state.query.bind(this.state);
    this.#reads = new Reads({ clock, counters, peers: this.#peers, handle, query, appliedIndex, wake });
    this.#divergence = new DivergenceCheck({
      serverId,
      logger,
      leader: () => this.#proposals.leader,
      members: () => this.#handle().peers.map((peer) => peer.id),
      reaches: (peer) => this.peers.some(({ id, connected }) => id === peer && connected),
      send: (peer, message) => this.#peers.send(peer, message),
      diverged: (error) => this.fatal(error),
      halted: (index) => this.availability.halt(index),
    });
    const { connections, diskGuard } = this;
    this.#routing = new OutputRouting({ serverId, counters, connections, attaches: this.#attaches, leases });
    this.#skipped = new SkippedEntries({ state: this.state, connections, attaches: this.#attaches });
    const availability = new Availability(options, {
      clock,
      logger,
      connections,
      proposals: this.#proposals,
      diskGuard,
      reads: this.#reads,
      waitsToBeAdded: () => this.peers.length === 0,
    });
    this.availability = availability;
    const shared = { serverId, clock, peers: this.#peers, handle };
    this.#transfer = new LeadershipTransfer({
      ...shared,
      understands: (peer) => this.#offers(peer, PeerFeature.transfer),
    });
    this.#membership = new MembershipWishes({
      ...shared,
      firstWish: 1 + random.integer(2 ** 40),
      understands: (peer) => this.#offers(peer, PeerFeature.members),
    });
    this.#upgrade = new StateUpgrade({
      serverId,
      clock,
      logger,
      state: this.state,
      peers: () => this.peers,
      mayPropose: () => availability.acceptsWrites && diskGuard.problem === undefined,
      propose: (entry) => this.#propose(entry),
    });
    const receivers = {
      availability,
      proposals: this.#proposals,
      renewals: this.#renewals,
      reads: this.#reads,
      transfer: this.#transfer,
      membership: this.#membership,
    };
    const members = (): readonly Member[] => this.#members();
    this.#clientMessages = new ClientMessages(options, { ...receivers, counters, attaches: this.#attaches, members });
    this.#inbox = new PeerInbox({ ...receivers, peers: this.#peers, divergence: this.#divergence, diskGuard });
  }

  /** Called once, before the replica starts. */
  bind(replica: ReplicaHandle): void {
    this.#replica = replica;
    this.statusChanged(replica.status);
  }

  get status(): ReplicaStatus {
    return this.#handle().status;
  }

  get peers(): readonly PeerInfo[] {
    return this.#handle().peers;
  }

  get disk(): OwnDisk {
    return this.#deps.disk;
  }

  get parkedBytes(): number {
    return this.#proposals.parkedBytes;
  }

  accept(connection: Connection): void {
    this.connections.accept(connection);
  }

  /** No new clients from now on; those that are connected go on until {@link disconnectClients}. */
  beginStop(): void {
    this.availability.beginStop();
  }

  /** Moves the clients to the other servers while this one still serves them; not for long, and not when there is no other. */
  async moveClients(): Promise<void> {
    const { leader } = this.status;
    if (leader === this.#options.serverId) return;
    // Nobody tells a removed server who leads the others.
    if (leader === 0 && !this.#removed) return;
    if (this.connections.askToLeave()) await this.connections.drained(LEAVE_WAIT_MS, this.#deps.clock);
  }

  disconnectClients(): void {
    this.#endOfTurn();
    this.connections.goodbyeAll('SHUTTING_DOWN', 'the server is stopping; use another');
    this.#expiry.stop();
    this.#upgrade.stop();
    this.#attaches.stop();
    this.#transfer.stop();
    this.#membership.stop();
    this.#reads.stop();
  }

  apply(entry: Entry): void {
    this.#applying = true;
    this.counters.entriesApplied += 1;
    const { observer } = this.#deps;
    if (entry.type !== EntryType.command) {
      this.state.applyNoop(entry.index);
      observer?.applied?.(entry, [], this.state);
    } else {
      const outputs = this.state.apply(entry.index, entry.data);
      observer?.applied?.(entry, outputs, this.state);
      this.#routing.route(entry.index, outputs);
      this.#expiry.applied(entry.data);
      this.#upgrade.applied(entry.index);
    }
    this.#divergence.applied(entry.index, () => this.state.fold);
  }

  beginSnapshot(): MachineSnapshot {
    return this.state.beginSnapshot();
  }

  async restore(index: LogIndex, bytes: SnapshotBytes): Promise<void> {
    const restoring = this.state.beginRestore(index);
    for await (const piece of bytes) restoring.push(piece);
    const known = this.#skipped.known();
    restoring.finish();
    this.#deps.observer?.restored?.(index, this.state);
    this.#divergence.restored(index, () => this.state.fold);
    this.#skipped.tell(known);
    this.#upgrade.applied(index);
    // Reads may have waited for entries that the snapshot holds.
    this.#wake();
  }

  flush(): void {
    this.#applying = false;
    this.#endOfTurn();
  }

  statusChanged(status: ReplicaStatus): void {
    const leaderBefore = this.#proposals.leader;
    // Deadlines first: what is proposed next renews.
    this.#expiry.statusChanged(status);
    this.#renewals.statusChanged(status);
    this.#reads.statusChanged(status);
    this.diskGuard.statusChanged(status);
    this.#proposals.statusChanged(status);
    this.#transfer.statusChanged(status);
    this.#membership.statusChanged(status);
    this.#upgrade.statusChanged(status);
    this.availability.leaderKnown(status.leader !== 0);
    if (status.leader !== 0) this.#attaches.submitAll();
    if (status.leader === leaderBefore) return;
    this.#divergence.leaderChanged();
    this.#tellLeader();
  }

  proposalRejected(data: Uint8Array, reason: RejectReason): void {
    this.#proposals.rejected(data, reason);
  }

  peerMessage(from: ServerId, payload: Uint8Array): void {
    this.#inbox.received(from, payload);
  }

  peerDisconnected(peer: ServerId): void {
    this.#inbox.connectionLost(peer);
    // Its side may not know that what it said is lost; if this does not reach it, it has lost us as well and hears of that.
    this.#handle().sendToPeer(peer, LOST);
  }

  peersChanged(): void {
    this.#tellLeader();
  }

  removed(): void {
    this.#removed = true;
    if (this.#deps.removed === undefined) this.fatal(new ExpelledError('MEMBER_REMOVED', this.#options.serverId));
    else this.#deps.removed();
  }

  fatal(error: unknown): void {
    if (this.availability.failed) return;
    this.availability.fail();
    this.#expiry.stop();
    this.#upgrade.stop();
    this.#deps.fatal(error);
  }

  #handle(): ReplicaHandle {
    if (this.#replica === undefined) throw new Error('the machine is used before it is bound to its replica');
    return this.#replica;
  }

  /** Sends what is gathered at the end of this turn of the event loop. */
  #wake(): void {
    if (this.#turnScheduled || this.#applying) return;
    this.#turnScheduled = true;
    this.#deps.clock.afterPoll(() => {
      this.#turnScheduled = false;
      this.#endOfTurn();
    });
  }

  #endOfTurn(): void {
    this.#reads.endOfTurn();
    this.#renewals.endOfTurn();
    this.#proposals.endOfTurn();
    this.#peers.flush();
    this.connections.flush();
  }

  #offers(peer: ServerId, feature: FeatureSet): boolean {
    return hasFeature(this.peers.find(({ id }) => id === peer)?.features ?? NO_FEATURES, feature);
  }

  #propose(entry: Uint8Array): void {
    if (this.availability.acceptsWrites) this.#proposals.submit(entry, 0);
  }

  #undelivered(peer: ServerId): void {
    this.#divergence.lost(peer);
    if (peer !== this.#proposals.leader) return;
    this.#membership.connectionLost(peer);
    this.#proposals.undelivered(peer);
    this.#renewals.leaderLost();
    this.#reads.leaderLost();
  }

  #submittedLost(code: ErrorCode): void {
    for (const connection of this.connections) connection.resend(code);
    this.#attaches.lost();
  }

  #entryRefused(entry: Uint8Array, code: ErrorCode): void {
    const header = decodeEntryHeader(entry);
    if (header.command === CommandType.expireSession) {
      this.#expiry.refused(entry);
    } else if (header.command === CommandType.attach) {
      this.#attaches.refused(header.number, code);
    } else {
      const connection = this.connections.bySession(header.session);
      // Not covered: the client has been told already.
      if (connection !== undefined && connection.window.covers(header.number)) connection.resend(code);
    }
  }

  #sessionRefusal(secret: Uint8Array): Reply | undefined {
    const { problem } = this.diskGuard;
    if (problem === undefined || this.state.hasSessionOf(secret)) return undefined;
    return { type: 'error', code: 'DISK_FULL', message: problem };
  }

  #tellLeader(): void {
    if (this.connections.size === 0) return;
    this.connections.broadcast({ type: 'leader', leader: this.#proposals.leader, members: this.#members() });
  }

  #members(): readonly Member[] {
    return this.peers.map(({ id, clientAddress }) => ({ server: id, clientAddress }));
  }
}
