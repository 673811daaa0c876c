/**
 * What a replica replicates here: applies committed entries to the locks' state, answers this server's clients, and leads the
 * sessions while this server leads. Tells the parts (machine-parts.ts) in which order they have their say in the replica's turn; each
 * rule is in the part's own file.
 */

import {
  EntryType,
  ExpelledError,
  type Entry,
  type LogIndex,
  type MachineSnapshot,
  type PeerInfo,
  type RejectReason,
  type ReplicaHandle,
  type ReplicaMachine,
  type ReplicaStatus,
  type RestoredState,
  type ServerId,
  type SnapshotBytes,
} from '@holdfast/raft';
import type { Connection } from '@holdfast/runtime';
import type { StateMachine, StateRestore } from '@holdfast/state';
import type { ClientConnections } from './clients/client-connections.ts';
import type { ServerCounters } from './counters.ts';
import type { Availability } from './health/availability.ts';
import type { DiskGuard } from './health/disk-guard.ts';
import type { OwnDisk } from './health/disk-space.ts';
import { LEAVE_WAIT_MS } from './limits.ts';
import {
  createMachineParts,
  toldMembers,
  type LockMachineOptions,
  type MachineParts,
  type MachineWorld,
} from './machine-parts.ts';
import { encodePeerMessages } from './peers/peer-message.ts';
import type { ServerObserver } from './server-observer.ts';

const LOST = encodePeerMessages([{ type: 'lost' }]);

export interface LockMachineDeps extends MachineWorld {
  readonly observer?: Partial<ServerObserver> | undefined;
  /** The replica has stopped, or this server must: the process has to end. Called at most once. */
  fatal(error: unknown): void;
  /** The ensemble goes on without this server: it should stop. @default fatal */
  removed?(): void;
}

export class LockMachine implements ReplicaMachine {
  readonly counters: ServerCounters;
  readonly state: StateMachine;
  readonly connections: ClientConnections;
  readonly availability: Availability;
  readonly diskGuard: DiskGuard;
  readonly #options: LockMachineOptions;
  readonly #deps: LockMachineDeps;
  readonly #parts: MachineParts;
  #replica: ReplicaHandle | undefined;
  #removed = false;
  #turnScheduled = false;
  /** Between the first apply of a replica's turn and its flush, which will come. */
  #applying = false;

  constructor(options: LockMachineOptions, deps: LockMachineDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#parts = createMachineParts(options, deps, {
      handle: () => this.#handle(),
      wake: () => this.#wake(),
      fatal: (error) => this.fatal(error),
      tellClients: () => this.#tellLeader(),
    });
    const { counters, state, connections, availability, diskGuard } = this.#parts;
    this.counters = counters;
    this.state = state;
    this.connections = connections;
    this.availability = availability;
    this.diskGuard = diskGuard;
  }

  /** Called once, before the replica starts. */
  bind(replica: ReplicaHandle): void {
    this.#replica = replica;
    this.#parts.requests.shareAmong(replica.peers.length);
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

  get readsReady(): number {
    return this.#parts.reads.ready;
  }

  /** Clients that were welcomed and are not attached yet, how many others were told to come again, and deadlines moved on for them. */
  get crowd(): { readonly underWay: number; readonly sentAway: number; readonly extensions: number } {
    const { admission, expiry } = this.#parts;
    return { underWay: admission.underWay, sentAway: admission.sentAway, extensions: expiry.leases.extensions };
  }

  /** What clients are told of the time over which they should spread. */
  get spreadMs(): number {
    return this.#parts.crowdSpread.ms;
  }

  get parkedBytes(): number {
    return this.#parts.proposals.parkedBytes;
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
    this.connections.stop();
    this.#parts.expiry.stop();
    this.#parts.ends.stop();
    this.#parts.upgrade.stop();
    this.#parts.attaches.stop();
    this.#parts.transfer.stop();
    this.#parts.membership.stop();
    this.#parts.gate.stop();
    this.#parts.reads.stop();
  }

  apply(entry: Entry): void {
    this.#applying = true;
    this.counters.entriesApplied += 1;
    const { observer } = this.#deps;
    if (entry.type !== EntryType.command) {
      this.state.applyNoop(entry.index);
      observer?.applied?.(entry, [], this.state);
    } else {
      this.#parts.gate.applied(entry.data);
      const outputs = this.state.apply(entry.index, entry.data);
      observer?.applied?.(entry, outputs, this.state);
      this.#parts.routing.route(entry.index, outputs);
      this.#parts.expiry.applied(entry.data);
      this.#parts.ends.applied(entry.data);
      this.#parts.upgrade.applied(entry.index);
    }
    this.#parts.divergence.applied(entry.index, () => this.state.fold);
  }

  beginSnapshot(): MachineSnapshot {
    return this.state.beginSnapshot();
  }

  async restore(index: LogIndex, bytes: SnapshotBytes): Promise<RestoredState> {
    const restoring = this.state.beginRestore(index);
    for await (const piece of bytes) restoring.push(piece);
    restoring.complete();
    this.#deps.observer?.built?.(index);
    return { adopt: () => this.#adopt(index, restoring) };
  }

  #adopt(index: LogIndex, restored: StateRestore): void {
    const known = this.#parts.skipped.known();
    restored.adopt();
    this.#deps.observer?.restored?.(index, this.state);
    this.#parts.divergence.restored(index, () => this.state.fold);
    this.#parts.skipped.tell(known);
    this.#parts.upgrade.applied(index);
    // Reads may have waited for entries that the snapshot holds.
    this.#wake();
  }

  flush(): void {
    this.#applying = false;
    this.#endOfTurn();
  }

  statusChanged(status: ReplicaStatus): void {
    const leaderBefore = this.#parts.proposals.leader;
    // Deadlines first: what is proposed next renews.
    this.#parts.expiry.statusChanged(status);
    this.#parts.renewals.statusChanged(status);
    this.#parts.reads.statusChanged(status);
    this.diskGuard.statusChanged(status);
    this.#parts.proposals.statusChanged(status);
    this.#parts.transfer.statusChanged(status);
    this.#parts.membership.statusChanged(status);
    this.#parts.upgrade.statusChanged(status);
    this.#parts.ends.statusChanged(status);
    this.availability.leaderKnown(status.leader !== 0);
    if (status.quorumLost) this.availability.quorumLost();
    if (status.leader !== 0) this.#parts.attaches.submitAll();
    if (status.leader === leaderBefore) return;
    this.#parts.divergence.leaderChanged();
    this.#tellLeader();
  }

  proposalRejected(data: Uint8Array, reason: RejectReason): void {
    this.#parts.proposals.rejected(data, reason);
  }

  peerMessage(from: ServerId, payload: Uint8Array): void {
    this.#parts.inbox.received(from, payload);
  }

  peerDisconnected(peer: ServerId): void {
    this.#parts.inbox.connectionLost(peer);
    // Its side may not know that what it said is lost; if this does not reach it, it has lost us as well and hears of that.
    this.#handle().sendToPeer(peer, LOST);
  }

  peersChanged(): void {
    this.#parts.requests.shareAmong(this.peers.length);
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
    this.#parts.expiry.stop();
    this.#parts.ends.stop();
    this.#parts.upgrade.stop();
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
    this.#parts.reads.endOfTurn();
    this.#parts.renewals.endOfTurn();
    this.#parts.proposals.endOfTurn();
    this.#parts.peers.flush();
    this.connections.flush();
  }

  #tellLeader(): void {
    if (this.connections.size === 0) return;
    this.connections.broadcast({
      type: 'leader',
      leader: this.#parts.proposals.leader,
      members: toldMembers(this.peers),
      term: this.status.term,
      spreadMs: this.#parts.crowdSpread.tell(),
    });
  }
}
