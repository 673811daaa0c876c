/**
 * What a replica replicates here: applies committed entries to the locks' state, answers this server's clients, and leads the
 * sessions while this server leads. Wires the concepts of this folder to each other and to the replica's turn; each rule is in
 * the concept's own file.
 */

import { CommandType, PROTOCOL_VERSION, isClientCommand, type ClientMessage, type ErrorCode } from '@holdfast/protocol';
import type { ServerMessage } from '@holdfast/protocol';
import {
  EntryType,
  type Entry,
  type PeerInfo,
  type RejectReason,
  type ReplicaHandle,
  type ReplicaMachine,
  type ReplicaStatus,
  type ServerId,
} from '@holdfast/raft';
import type { Clock, Connection, Logger, Random } from '@holdfast/runtime';
import { StateMachine, decodeEntryHeader, encodeEntry } from '@holdfast/state';
import { Attaches } from './attaches.ts';
import type { ClientConnection } from './client-connection.ts';
import { ClientConnections } from './client-connections.ts';
import { ServerCounters } from './counters.ts';
import { DivergenceCheck } from './divergence.ts';
import { LeaderContact } from './leader-contact.ts';
import { MAX_COMMAND_BYTES } from './limits.ts';
import { OutputRouting } from './output-routing.ts';
import { PeerOutbox } from './peer-outbox.ts';
import { decodePeerMessages, encodePeerMessages, type PeerMessage } from './peer-message.ts';
import { Proposals } from './proposals.ts';
import { Reads } from './reads.ts';
import { Renewals } from './renewals.ts';
import { SessionExpiry } from './session-expiry.ts';

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
  /** The replica has stopped, or this server must: the process has to end. Called at most once. */
  fatal(error: unknown): void;
}

export class LockMachine implements ReplicaMachine {
  readonly counters = new ServerCounters();
  readonly state = new StateMachine();
  readonly connections: ClientConnections;
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
  readonly #contact: LeaderContact;
  #replica: ReplicaHandle | undefined;
  #turnScheduled = false;
  /** Between the first apply of a replica's turn and its flush, which will come. */
  #applying = false;
  #haltedAt = 0;
  #stopping = false;
  #failed = false;

  constructor(options: LockMachineOptions, deps: LockMachineDeps) {
    this.#options = options;
    this.#deps = deps;
    const { serverId } = options;
    const { clock, random, logger } = deps;
    const counters = this.counters;
    const handle = (): ReplicaHandle => this.#handle();
    const wake = (): void => this.#wake();
    const appliedIndex = (): number => this.state.appliedIndex;
    this.connections = new ClientConnections({
      clock,
      logger,
      counters,
      wake,
      message: (connection, message) => this.#clientMessage(connection, message),
      closed: (connection) => this.#attaches.closed(connection),
      boundChanged: (any) => this.#handle().setEagerCommit(any),
    });
    this.#peers = new PeerOutbox(handle, (peer) => this.#undelivered(peer), wake);
    this.#expiry = new SessionExpiry({ clock, logger, state: this.state, propose: (entry) => this.#propose(entry) });
    const { leases } = this.#expiry;
    this.#proposals = new Proposals({
      serverId,
      clock,
      logger,
      counters,
      peers: this.#peers,
      handle,
      wake,
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
    });
    this.#renewals = new Renewals({ serverId, counters, peers: this.#peers, leases, handle, wake });
    const query = this.state.query.bind(this.state);
    this.#reads = new Reads({ clock, counters, peers: this.#peers, handle, query, appliedIndex, wake });
    this.#divergence = new DivergenceCheck({
      serverId,
      logger,
      leader: () => this.#proposals.leader,
      members: () => this.#handle().peers.map((peer) => peer.id),
      send: (peer, message) => this.#peers.send(peer, message),
      diverged: (error) => this.fatal(error),
      halted: (index) => this.#halt(index),
    });
    const { connections } = this;
    this.#routing = new OutputRouting({ serverId, counters, connections, attaches: this.#attaches, leases });
    this.#contact = new LeaderContact(options, () => this.#contactLost(), clock);
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

  /** This server serves its role: it has heard from a leader, or a quorum of followers, within two election time-outs. */
  get healthy(): boolean {
    return this.unhealthyReason === undefined;
  }

  get unhealthyReason(): string | undefined {
    if (this.#failed) return 'the server has failed and is stopping';
    if (this.#haltedAt !== 0) return `the servers disagree about the state at index ${this.#haltedAt}`;
    if (!this.#contact.serving) return 'no contact to a leader or a quorum';
    return undefined;
  }

  /** New sessions are accepted. */
  get acceptsSessions(): boolean {
    return this.unreadyReason === undefined;
  }

  get unreadyReason(): string | undefined {
    if (this.#stopping) return 'the server is stopping';
    return this.unhealthyReason ?? (this.#proposals.leader === 0 ? 'no leader is known' : undefined);
  }

  get parkedBytes(): number {
    return this.#proposals.parkedBytes;
  }

  get members(): Extract<ServerMessage, { type: 'welcome' }>['members'] {
    return this.peers.map(({ id, clientAddress }) => ({ server: id, clientAddress }));
  }

  accept(connection: Connection): void {
    this.connections.accept(connection);
  }

  /** No new clients from now on; those that are connected go on until {@link disconnectClients}. */
  beginStop(): void {
    this.#stopping = true;
    this.#contact.stop();
  }

  disconnectClients(): void {
    this.#endOfTurn();
    this.connections.goodbyeAll('SHUTTING_DOWN', 'the server is stopping; use another');
    this.#expiry.stop();
    this.#attaches.stop();
    this.#reads.stop();
  }

  apply(entry: Entry): void {
    this.#applying = true;
    this.counters.entriesApplied += 1;
    if (entry.type === EntryType.noop) {
      this.state.applyNoop(entry.index);
    } else {
      this.#routing.route(entry.index, this.state.apply(entry.index, entry.data));
      this.#expiry.applied(entry.data);
    }
    this.#divergence.applied(entry.index, () => this.state.fold);
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
    this.#proposals.statusChanged(status);
    this.#contact.leaderKnown(status.leader !== 0);
    if (status.leader !== 0) this.#attaches.submitAll();
    if (status.leader !== leaderBefore) this.#tellLeader();
  }

  proposalRejected(data: Uint8Array, reason: RejectReason): void {
    this.#proposals.rejected(data, reason);
  }

  peerMessage(from: ServerId, payload: Uint8Array): void {
    for (const message of decodePeerMessages(payload)) this.#fromPeer(from, message);
  }

  peerDisconnected(peer: ServerId): void {
    this.#connectionLost(peer);
    // Its side may not know that what it said is lost; if this does not reach it, it has lost us as well and hears of that.
    this.#handle().sendToPeer(peer, LOST);
  }

  peersChanged(): void {
    this.#tellLeader();
  }

  fatal(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#expiry.stop();
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

  #clientMessage(connection: ClientConnection, message: ClientMessage): void {
    if (connection.phase === 'new') {
      this.#hello(connection, message);
      return;
    }
    switch (message.type) {
      case 'hello':
        connection.goodbye('MALFORMED', 'hello was said before; it comes once, first');
        return;
      case 'attach':
        if (this.#refusesWrites(connection)) return;
        this.#attaches.attach(connection, message.id, message.payload);
        return;
      case 'request':
        this.#request(connection, message);
        return;
      case 'read':
        this.#reads.read(connection, message);
        return;
      case 'heartbeat':
        this.#renewals.heartbeat(connection, message.id);
        return;
      case 'ping':
        connection.send({ type: 'pong', id: message.id });
        return;
    }
  }

  #hello(connection: ClientConnection, message: ClientMessage): void {
    const { clusterId, serverId } = this.#options;
    if (message.type !== 'hello') {
      connection.goodbye('MALFORMED', `the first message must be hello, not ${message.type}`);
    } else if (message.version !== PROTOCOL_VERSION) {
      const problem = `this server speaks protocol version ${PROTOCOL_VERSION}, the client ${message.version}`;
      connection.goodbye('VERSION_MISMATCH', `${problem}; install matching versions`);
    } else if (message.clusterId !== '' && message.clusterId !== clusterId) {
      const problem = `this server belongs to cluster "${clusterId}", not "${message.clusterId}"`;
      connection.goodbye('WRONG_CLUSTER', `${problem}; check the addresses`);
    } else if (this.#stopping) {
      connection.goodbye('SHUTTING_DOWN', 'the server is stopping; use another');
    } else if (!this.#contact.serving) {
      connection.goodbye('NO_LEADER', 'this server has no contact to a leader; use another');
    } else {
      connection.greeted();
      const leader = this.#proposals.leader;
      const { members } = this;
      connection.send({
        type: 'welcome',
        version: PROTOCOL_VERSION,
        features: 0,
        clusterId,
        server: serverId,
        leader,
        members,
      });
    }
  }

  #request(connection: ClientConnection, message: Extract<ClientMessage, { type: 'request' }>): void {
    this.counters.requestsReceived += 1;
    const { command, number, ackedUpTo, payload } = message;
    if (!isClientCommand(command) || command === CommandType.attach) {
      // In the log an unknown command would stop every server.
      connection.goodbye('UNSUPPORTED', `command ${command} is not one that this server takes as a request`);
      return;
    }
    if (payload.length > MAX_COMMAND_BYTES) {
      connection.goodbye('LIMIT_EXCEEDED', `a command of ${payload.length} bytes is over ${MAX_COMMAND_BYTES}`);
      return;
    }
    if (connection.session === 0) {
      // What was under way when the session ended has no answer any more.
      if (!connection.detached) connection.goodbye('MALFORMED', 'a request needs a session; attach first');
      return;
    }
    if (this.#refusesWrites(connection)) return;
    const admission = connection.window.received(number);
    if (admission === 'drop') return;
    if (admission === 'overflow') {
      connection.goodbye('OVERLOADED', 'too many requests are unanswered; wait for answers');
      return;
    }
    const { session, generation } = connection;
    const entry = encodeEntry({ command, session, generation, number, ackedUpTo }, payload);
    if (!this.#proposals.submit(entry, session)) this.#resend(connection, 'OVERLOADED');
  }

  #refusesWrites(connection: ClientConnection): boolean {
    if (this.#haltedAt === 0) return false;
    const problem = `no majority of the servers had the same state at index ${this.#haltedAt}`;
    connection.goodbye('NO_LEADER', `writes are refused: ${problem}; an operator has to restore one`);
    return true;
  }

  #resend(connection: ClientConnection, code: ErrorCode): void {
    const from = connection.window.resend();
    if (from === undefined) return;
    this.counters.resends += 1;
    connection.send({ type: 'resend', from, code });
  }

  #fromPeer(from: ServerId, message: PeerMessage): void {
    switch (message.type) {
      case 'forward':
        this.#forwarded(from, message.epoch, message.entries);
        return;
      case 'forward-refused':
        this.#proposals.forwardRefused(from, message.epoch, message.code);
        return;
      case 'touch':
        this.#renewals.touched(from, message.batch, message.sessions);
        return;
      case 'touched':
        this.#renewals.acknowledged(message.batch, message.except);
        return;
      case 'read-index':
        this.#reads.askedByPeer(from, message.batch);
        return;
      case 'read-index-answer':
        this.#reads.answeredByPeer(message.batch, message.index);
        return;
      case 'fold':
        this.#divergence.reported(from, message.index, message.fold);
        return;
      case 'diverged':
        this.#divergence.toldDiverged(message.index, message.fold);
        return;
      case 'halted':
        this.#halt(message.index);
        return;
      case 'lost':
        this.#connectionLost(from);
        return;
    }
  }

  #forwarded(from: ServerId, epoch: number, entries: readonly Uint8Array[]): void {
    if (this.#haltedAt === 0) this.#proposals.forwarded(from, epoch, entries);
    else this.#peers.send(from, { type: 'forward-refused', epoch, code: 'NO_LEADER' });
  }

  #propose(entry: Uint8Array): void {
    if (this.#haltedAt === 0) this.#proposals.submit(entry, 0);
  }

  #connectionLost(peer: ServerId): void {
    if (peer !== this.#proposals.leader) return;
    this.#proposals.disconnected(peer);
    this.#renewals.leaderLost();
    this.#reads.leaderLost();
  }

  #undelivered(peer: ServerId): void {
    if (peer !== this.#proposals.leader) return;
    this.#proposals.undelivered(peer);
    this.#renewals.leaderLost();
    this.#reads.leaderLost();
  }

  #submittedLost(code: ErrorCode): void {
    for (const connection of this.connections) this.#resend(connection, code);
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
      if (connection !== undefined && connection.window.covers(header.number)) this.#resend(connection, code);
    }
  }

  #contactLost(): void {
    this.#proposals.dropParked();
    this.connections.goodbyeAll('NO_LEADER', 'this server has lost contact to a leader; use another');
  }

  #halt(index: number): void {
    if (this.#haltedAt !== 0) return;
    this.#haltedAt = index;
    this.#deps.logger.error(
      { index },
      'the servers disagree about the state and none has a majority; writes are refused',
    );
    this.connections.goodbyeAll(
      'NO_LEADER',
      'writes are refused: the servers disagree; an operator has to restore one',
    );
  }

  #tellLeader(): void {
    if (this.connections.size === 0) return;
    const { leader } = this.#proposals;
    const { members } = this;
    this.connections.broadcast({ type: 'leader', leader, members });
  }
}
