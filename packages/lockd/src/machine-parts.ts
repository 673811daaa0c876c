/**
 * The parts of one server's state machine, and how they are put together: who asks and who tells whom. Each rule is in the part's own
 * file; when each of them has its say is in lock-machine.ts.
 */

import { NO_FEATURES, hasFeature, type FeatureSet, type Member } from '@holdfast/protocol';
import { PeerFeature, type PeerInfo, type ReplicaHandle, type ServerId } from '@holdfast/raft';
import type { Clock, Logger, Random } from '@holdfast/runtime';
import type { StateMachine } from '@holdfast/state';
import { Admission } from './clients/admission.ts';
import { ClientConnections } from './clients/client-connections.ts';
import { ClientMessages } from './clients/client-messages.ts';
import { CrowdSpread } from './clients/crowd-spread.ts';
import { OutputRouting } from './clients/output-routing.ts';
import { RequestBudget } from './clients/request-budget.ts';
import { SkippedEntries } from './clients/skipped-entries.ts';
import { ServerCounters } from './counters.ts';
import { Availability } from './health/availability.ts';
import { DiskGuard } from './health/disk-guard.ts';
import type { OwnDisk } from './health/disk-space.ts';
import { DivergenceCheck } from './health/divergence.ts';
import { createKeyedState } from './keyed-state.ts';
import { CROWD_ATTACHES } from './limits.ts';
import { LeadershipTransfer } from './members/leadership-transfer.ts';
import { MembershipWishes } from './members/membership-wishes.ts';
import { StateUpgrade } from './members/state-upgrade.ts';
import { CorrelationIds } from './peers/correlation-ids.ts';
import { PeerInbox } from './peers/peer-inbox.ts';
import { encodePeerMessages } from './peers/peer-message.ts';
import { PeerOutbox } from './peers/peer-outbox.ts';
import { ProposalGate } from './requests/gathering/proposal-gate.ts';
import { Proposals } from './requests/proposals.ts';
import { Reads } from './requests/reads.ts';
import { UnloggedEntries } from './requests/unlogged-entries.ts';
import { AddressSessions } from './sessions/address-sessions.ts';
import { Attaches } from './sessions/attaches.ts';
import { Renewals } from './sessions/renewals.ts';
import { ReturningCrowd } from './sessions/returning-crowd.ts';
import { SessionEnds } from './sessions/session-ends.ts';
import { SessionExpiry } from './sessions/session-expiry.ts';

export interface LockMachineOptions {
  readonly serverId: ServerId;
  readonly clusterId: string;
  readonly electionTimeoutMs: number;
  /** Sessions that clients of one address may make here. @default MAX_SESSIONS_PER_ADDRESS, and any number from a loopback address */
  readonly maxSessionsPerAddress?: number | undefined;
}

export interface MachineWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly disk: OwnDisk;
}

/** What the parts ask of the machine that they make up. */
export interface MachineHooks {
  readonly handle: () => ReplicaHandle;
  /** Something was gathered: it is sent at the end of this turn of the event loop. */
  readonly wake: () => void;
  readonly fatal: (error: unknown) => void;
  /** Who leads, and what else every client should know. */
  readonly tellClients: () => void;
}

export interface MachineParts {
  readonly state: StateMachine;
  readonly counters: ServerCounters;
  readonly connections: ClientConnections;
  readonly admission: Admission;
  readonly crowdSpread: CrowdSpread;
  readonly requests: RequestBudget;
  readonly availability: Availability;
  readonly diskGuard: DiskGuard;
  readonly gate: ProposalGate;
  readonly proposals: Proposals;
  readonly attaches: Attaches;
  readonly expiry: SessionExpiry;
  readonly ends: SessionEnds;
  readonly renewals: Renewals;
  readonly reads: Reads;
  readonly peers: PeerOutbox;
  readonly divergence: DivergenceCheck;
  readonly routing: OutputRouting;
  readonly skipped: SkippedEntries;
  readonly inbox: PeerInbox;
  readonly transfer: LeadershipTransfer;
  readonly membership: MembershipWishes;
  readonly upgrade: StateUpgrade;
}

export function createMachineParts(
  options: LockMachineOptions,
  { clock, random, logger, disk }: MachineWorld,
  { handle, wake, fatal, tellClients }: MachineHooks,
): MachineParts {
  const { serverId } = options;
  const state = createKeyedState(random);
  const counters = new ServerCounters();
  const appliedIndex = (): number => state.appliedIndex;
  const members = (): readonly PeerInfo[] => handle().peers;
  const offers = (server: ServerId, feature: FeatureSet): boolean =>
    hasFeature(members().find(({ id }) => id === server)?.features ?? NO_FEATURES, feature);
  const propose = (entry: Uint8Array): void => {
    if (availability.acceptsWrites) proposals.submit(entry, 0);
  };

  const correlations = new CorrelationIds(random);
  const requests = new RequestBudget();
  const connections = new ClientConnections({
    clock,
    logger,
    counters,
    requests,
    wake,
    message: (connection, message) => clientMessages.received(connection, message),
    closed: (connection) => {
      gate.gone(connection.habit);
      attaches.closed(connection);
      admission.gone(connection);
    },
    bound: (connection) => admission.attached(connection),
    attaching: (connection) => attaches.isPending(connection),
    boundChanged: (any) => handle().setEagerCommit(any),
  });
  const peers = new PeerOutbox(handle, (peer) => inbox.undelivered(peer), wake);
  const crowd = new ReturningCrowd(clock);
  const admission = new Admission({ clock, isAttaching: (connection) => attaches.isPending(connection) });
  const crowded = (): boolean => crowd.present || admission.underWay >= CROWD_ATTACHES;
  const expiry = new SessionExpiry({ clock, logger, state, propose, crowded });
  const ends = new SessionEnds({ clock, state, propose });
  const { leases } = expiry;
  const diskGuard = new DiskGuard({
    serverId,
    own: disk,
    clock,
    logger,
    counters,
    handle,
    say: (peer, message) => void handle().sendToPeer(peer, encodePeerMessages([message])),
  });
  const gate = new ProposalGate({ clock, counters, propose: (entry) => handle().propose(entry) });
  const proposals: Proposals = new Proposals({
    serverId,
    clock,
    logger,
    counters,
    correlations,
    peers,
    gate,
    wake,
    admit: (entry) => diskGuard.admit(entry),
    renew: (session) => leases.renew(session),
    lost: (code) => unlogged.lost(code),
    refused: (entry, code) => unlogged.refused(entry, code),
  });
  const addresses = new AddressSessions(options.maxSessionsPerAddress);
  const attaches = new Attaches({
    addresses,
    exists: (secretHash) => state.hasSessionOf(secretHash),
    correlations,
    clock,
    counters,
    connections,
    proposals,
    appliedIndex,
    refusal: (givesBack) => {
      const problem = diskGuard.sessionProblem(givesBack);
      if (problem === undefined) return undefined;
      return { type: 'error', code: 'DISK_FULL', message: problem };
    },
  });
  const unlogged = new UnloggedEntries({ connections, attaches, expiry, ends });
  const renewals = new Renewals({ serverId, counters, correlations, peers, leases, handle, wake });
  const reads = new Reads({
    clock,
    counters,
    correlations,
    peers,
    handle,
    prepare: state.prepare.bind(state),
    query: state.query.bind(state),
    appliedIndex,
    wake,
  });
  const divergence = new DivergenceCheck({
    serverId,
    logger,
    leader: () => proposals.leader,
    members: () => members().map(({ id }) => id),
    reaches: (peer) => members().some(({ id, connected }) => id === peer && connected),
    send: (peer, message) => peers.send(peer, message),
    diverged: fatal,
    halted: (index) => availability.halt(index),
  });
  const routing = new OutputRouting({
    serverId,
    counters,
    connections,
    gate,
    attaches,
    addresses,
    leases,
    crowd,
    sessionsChanged: () => {
      if (crowdSpread.outdated) tellClients();
    },
  });
  const skipped = new SkippedEntries({ serverId, state, connections, attaches, addresses });
  const waitsToBeAdded = (): boolean => members().length === 0;
  const availability = new Availability(options, {
    clock,
    logger,
    connections,
    proposals,
    diskGuard,
    reads,
    waitsToBeAdded,
  });
  const shared = { serverId, clock, correlations, peers, handle };
  const transfer = new LeadershipTransfer({ ...shared, understands: (peer) => offers(peer, PeerFeature.transfer) });
  const membership = new MembershipWishes({
    ...shared,
    understands: (peer) => offers(peer, PeerFeature.members),
  });
  const upgrade = new StateUpgrade({
    serverId,
    clock,
    logger,
    state,
    peers: members,
    mayPropose: () => availability.acceptsWrites && diskGuard.problem === undefined,
    propose,
  });
  const crowdSpread = new CrowdSpread(() => state.counts.sessions);
  const receivers = { availability, proposals, renewals, reads, transfer, membership };
  const clientMessages = new ClientMessages(options, {
    ...receivers,
    counters,
    gate,
    attaches,
    admission,
    crowdSpread,
    members: () => toldMembers(members()),
    term: () => handle().status.term,
  });
  const isMember = (server: ServerId): boolean => members().some(({ id }) => id === server);
  const inbox = new PeerInbox({ ...receivers, peers, divergence, diskGuard, isMember });
  return {
    state,
    counters,
    connections,
    admission,
    crowdSpread,
    requests,
    availability,
    diskGuard,
    gate,
    proposals,
    attaches,
    expiry,
    ends,
    renewals,
    reads,
    peers,
    divergence,
    routing,
    skipped,
    inbox,
    transfer,
    membership,
    upgrade,
  };
}

/** As clients are told of them. */
export function toldMembers(members: readonly PeerInfo[]): readonly Member[] {
  return members.map(({ id, clientAddress }) => ({ server: id, clientAddress }));
}
