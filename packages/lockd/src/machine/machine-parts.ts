/**
 * The parts of one server around its state machine, and the order in which they hear what happens. Each rule is in the part's own file,
 * what a part may hear in server-part.ts.
 */

import { NO_FEATURES, hasFeature, type FeatureSet } from '@holdfast/protocol';
import { PeerFeature, type PeerInfo, type ReplicaHandle, type ServerId } from '@holdfast/raft';
import type { Clock, Logger, Random } from '@holdfast/runtime';
import type { StateMachine, Versions } from '@holdfast/state';
import { Admission } from '../port/admission.ts';
import type { ClientConnections } from '../fronts/native/client-connections.ts';
import { createNativeFront } from '../fronts/native/native-front.ts';
import { CrowdSpread } from '../port/crowd-spread.ts';
import { ensembleView } from '../port/ensemble-view.ts';
import { OutputRouting } from '../port/output-routing.ts';
import { SessionClients } from '../port/session-clients.ts';
import type { SessionClient } from '../port/session-client.ts';
import type { SessionPort } from '../port/session-port.ts';
import { SessionService } from '../port/session-service.ts';
import { RequestBudget } from '../requests/request-budget.ts';
import { SkippedEntries } from '../port/skipped-entries.ts';
import { ServerCounters } from '../counters.ts';
import { Availability } from '../health/availability.ts';
import { DiskGuard } from '../health/disk-guard.ts';
import type { OwnDisk } from '../health/disk-space.ts';
import { DivergenceCheck } from '../health/divergence.ts';
import { WritesHalt } from '../health/writes-halt.ts';
import {
  CROWD_ATTACHES,
  DEFAULT_CONTAINER_CHECK_MS,
  DEFAULT_WATCH_HISTORY_BYTES,
  STATE_UPGRADE_CHECKS,
} from '../limits.ts';
import { HoldNews } from '../locks/hold-news.ts';
import { LockDelays } from '../locks/lock-delays.ts';
import { ReleaseRequests } from '../locks/release-requests.ts';
import { AdminRequests } from '../members/admin-requests.ts';
import { membersRequest, membershipChangeRequest } from '../members/membership-requests.ts';
import { StateUpgrade } from '../members/state-upgrade.ts';
import { transferRequest } from '../members/transfer-request.ts';
import { UnusedNodes } from '../nodes/unused-nodes.ts';
import { CorrelationIds } from '../peers/correlation-ids.ts';
import { PeerInbox } from '../peers/peer-inbox.ts';
import { encodePeerMessages } from '../peers/peer-message.ts';
import { PeerOutbox } from '../peers/peer-outbox.ts';
import { CommitBatcher } from '../requests/batching/commit-batcher.ts';
import { Proposals } from '../requests/proposals.ts';
import { Reads } from '../requests/reads.ts';
import { AddressSessions } from '../sessions/address-sessions.ts';
import { Attaches } from '../sessions/attaches.ts';
import { Renewals } from '../sessions/renewals.ts';
import { ReturningCrowd } from '../sessions/returning-crowd.ts';
import { SessionEnds } from '../sessions/session-ends.ts';
import { SessionExpiry } from '../sessions/session-expiry.ts';
import { SessionLeases } from '../sessions/session-leases.ts';
import { Watches } from '../watches/watches.ts';
import { createKeyedState } from './keyed-state.ts';
import { PartHooks } from './part-hooks.ts';
import type { ServerPart } from './server-part.ts';

export interface LockMachineOptions {
  readonly serverId: ServerId;
  readonly clusterId: string;
  readonly electionTimeoutMs: number;
  /** Sessions that clients of one address may make here. @default MAX_SESSIONS_PER_ADDRESS, and any number from a loopback address */
  readonly maxSessionsPerAddress?: number | undefined;
  /** How long a container is empty before it goes, where this server leads. @default DEFAULT_CONTAINER_CHECK_MS */
  readonly containerCheckMs?: number | undefined;
  /** How often in a row all members must offer the next state version before a leader raises it. @default STATE_UPGRADE_CHECKS */
  readonly stateUpgradeChecks?: number | undefined;
  /** This server is a founder, and its log is empty. @default false */
  readonly founder?: boolean;
  /** By which entries are applied, the same on all servers for all time. @default VERSIONS */
  readonly versions?: Versions | undefined;
  /** Of the changes that watches of clients go on from. @default DEFAULT_WATCH_HISTORY_BYTES */
  readonly watchHistoryBytes?: number | undefined;
}

export interface MachineWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly disk: OwnDisk;
}

/** What the parts ask of the machine that they make up. */
export interface MachineHandle {
  readonly handle: () => ReplicaHandle;
  /** Something was gathered: it is sent at the end of this turn of the event loop. */
  readonly wake: () => void;
  readonly fatal: (error: unknown) => void;
}

/** What the machine, and whoever asks it for figures, needs by name; all others are in the list alone. */
export interface MachineParts {
  readonly hooks: PartHooks;
  readonly state: StateMachine;
  readonly counters: ServerCounters;
  readonly connections: ClientConnections;
  readonly clients: SessionClients;
  /** What fronts ask. */
  readonly port: SessionPort;
  readonly admission: Admission;
  readonly crowdSpread: CrowdSpread;
  readonly requests: RequestBudget;
  readonly availability: Availability;
  readonly diskGuard: DiskGuard;
  readonly proposals: Proposals;
  readonly leases: SessionLeases;
  readonly reads: Reads;
  readonly inbox: PeerInbox;
  readonly watches: Watches;
}

/**
 * Each part is given what it needs of those above it; what it has for the others goes to the hooks. A new part is a file, and a line in
 * the list at the end.
 */
export function createMachineParts(
  options: LockMachineOptions,
  { clock, random, logger, disk }: MachineWorld,
  { handle, wake, fatal }: MachineHandle,
): MachineParts {
  const { serverId } = options;
  const hooks = new PartHooks();
  const state = createKeyedState(random, options.versions);
  const counters = new ServerCounters();
  const correlations = new CorrelationIds(random);
  const appliedIndex = (): number => state.appliedIndex;
  const members = (): readonly PeerInfo[] => handle().peers;
  const isMember = (server: ServerId): boolean => members().some(({ id }) => id === server);
  const offers = (server: ServerId, feature: FeatureSet): boolean =>
    hasFeature(members().find(({ id }) => id === server)?.features ?? NO_FEATURES, feature);

  const inbox = new PeerInbox({ isMember, connectionLost: (peer) => hooks.connectionLost(peer, 'disconnected') });
  const peers = new PeerOutbox(handle, (peer) => hooks.connectionLost(peer, 'undelivered'), wake);
  const requests = new RequestBudget();
  const clients = new SessionClients({
    counters,
    requests,
    bound: (client) => hooks.clientBound(client),
    closed: (client) => hooks.clientClosed(client),
    boundChanged: (any) => handle().setEagerCommit(any),
  });
  const crowd = new ReturningCrowd(clock);
  const admission = new Admission(clock);
  const crowdSpread = new CrowdSpread(() => state.counts.sessions);
  const leases = new SessionLeases(clock, () => crowd.present || admission.underWay >= CROWD_ATTACHES);
  const halt = new WritesHalt(logger, () => hooks.halted());
  const diskGuard = new DiskGuard({
    serverId,
    own: disk,
    clock,
    logger,
    counters,
    handle,
    say: (peer, message) => void handle().sendToPeer(peer, encodePeerMessages([message])),
  });
  const availability = new Availability(options, {
    clock,
    diskGuard,
    halt,
    contactLost: () => hooks.contactLost(),
    waitsToBeAdded: () => members().length === 0,
  });

  const batcher = new CommitBatcher({ clock, counters, propose: (entry) => handle().propose(entry) });
  const proposals = new Proposals({
    serverId,
    clock,
    logger,
    counters,
    correlations,
    peers,
    batcher,
    wake,
    acceptsWrites: () => halt.acceptsWrites,
    admit: (entry) => diskGuard.admit(entry),
    renew: (session, nowMs) => leases.renew(session, nowMs),
    lost: (code) => hooks.submissionsLost(code),
    refused: (entry, code) => hooks.entryRefused(entry, code),
  });
  const propose = (entry: Uint8Array): void => {
    if (halt.acceptsWrites) proposals.submit(entry, 0);
  };
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
  const watches = new Watches({
    clock,
    counters,
    state,
    reads,
    historyBytes: options.watchHistoryBytes ?? DEFAULT_WATCH_HISTORY_BYTES,
    wake,
  });
  const told = (client: SessionClient): number | undefined => watches.told(client);
  const renewals = new Renewals({ serverId, counters, correlations, peers, leases, told, handle, wake });
  const addresses = new AddressSessions(options.maxSessionsPerAddress);
  const attaches = new Attaches({
    addresses,
    exists: (secretHash) => state.hasSessionOf(secretHash),
    correlations,
    clock,
    counters,
    clients,
    proposals,
    appliedIndex,
    attached: (client) => hooks.clientAttached(client),
    refusal: (givesBack) => {
      const problem = diskGuard.sessionProblem(givesBack);
      if (problem === undefined) return undefined;
      return { type: 'error', code: 'DISK_FULL', message: problem };
    },
  });
  const delays = new LockDelays({ clock, state, propose });
  const holdNews = new HoldNews({ clock, state, clients });
  const routing = new OutputRouting({
    serverId,
    counters,
    clients,
    batcher,
    attaches,
    addresses,
    leases,
    crowd,
    delays,
    holdNews,
    sessionsChanged: () => hooks.sessionsChanged(),
  });
  const admin = new AdminRequests(
    {
      members: membersRequest(handle),
      'change-membership': membershipChangeRequest(handle),
      transfer: transferRequest(handle),
    },
    { serverId, clock, correlations, peers, handle, understands: (peer) => offers(peer, PeerFeature.admin) },
  );
  const port = new SessionService({
    clock,
    ensemble: ensembleView(options, { state, proposals, crowdSpread, handle }),
    counters,
    clients,
    admission,
    halt,
    batcher,
    proposals,
    attaches,
    renewals,
    reads,
    watches,
    admin,
  });
  const native = createNativeFront({ clock, logger, counters, port, availability, crowdSpread, wake });

  // Every hook is called in this order (`stop` in the reverse one). What depends on it:
  const parts: readonly ServerPart[] = [
    // The time of a commit is that of the entry alone.
    batcher,
    // Who watches hears what an entry does before anybody hears its reply.
    watches,
    // What an entry does is reported before anybody proposes what follows from it.
    routing,
    // A new leader's deadlines run before anything is proposed: each proposal renews.
    new SessionExpiry({ logger, state, leases, propose }),
    // Delays of locks run from the same moment on, in full.
    delays,
    // Reads and renewals ask the peers before proposals are forwarded to them, in the same message.
    reads,
    renewals,
    // Whether there is disk is decided before what waited for a leader is proposed...
    diskGuard,
    proposals,
    admin,
    new StateUpgrade({
      serverId,
      clock,
      logger,
      state,
      peers: members,
      checks: options.stateUpgradeChecks ?? STATE_UPGRADE_CHECKS,
      founder: options.founder ?? false,
      mayPropose: () => halt.acceptsWrites && diskGuard.problem === undefined,
      propose,
    }),
    new SessionEnds({ clock, state, propose }),
    new UnusedNodes({
      clock,
      state,
      propose,
      containerCheckMs: options.containerCheckMs ?? DEFAULT_CONTAINER_CHECK_MS,
    }),
    // ...and clients are sent away only after they were notified of what is lost.
    halt,
    availability,
    admission,
    // Attaches go to the leader that the proposals know.
    attaches,
    new DivergenceCheck({
      serverId,
      logger,
      digest: () => state.digest,
      members: () => members().map(({ id }) => id),
      reaches: (peer) => members().some(({ id, connected }) => id === peer && connected),
      send: (peer, message) => peers.send(peer, message),
      diverged: fatal,
      halted: (index) => halt.begin(index),
    }),
    new SkippedEntries({ serverId, state, clients, attaches, addresses }),
    // What a hold has not heard of it is told behind its grant.
    holdNews,
    // Who was told that it has lost something is told after that what is asked of it.
    new ReleaseRequests({ clock, logger, state, clients, propose }),
    // A refused entry that nobody above has submitted is a client's.
    clients,
    // Peers hear of a turn before clients do, who answer at once.
    inbox,
    peers,
    ...native.parts,
  ];
  hooks.install(parts);
  inbox.install(parts);
  return {
    hooks,
    state,
    counters,
    connections: native.connections,
    clients,
    port,
    admission,
    crowdSpread,
    requests,
    availability,
    diskGuard,
    proposals,
    leases,
    reads,
    inbox,
    watches,
  };
}
