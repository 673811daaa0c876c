/**
 * What a replica replicates here: applies committed entries to the locks' state, answers this server's clients, and leads the
 * sessions while this server leads. Notifies the parts (machine-parts.ts) of what is in the replica's turn; each rule is in the part's own
 * file.
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
import type { Output, StateMachine, StateRestore } from '@holdfast/state';
import type { ClientConnections } from '../fronts/native/client-connections.ts';
import type { ServerCounters } from '../counters.ts';
import type { Availability } from '../health/availability.ts';
import type { DiskGuard } from '../health/disk-guard.ts';
import type { OwnDisk } from '../health/disk-space.ts';
import { LEAVE_WAIT_MS } from '../limits.ts';
import { createMachineParts, type LockMachineOptions, type MachineParts, type MachineWorld } from './machine-parts.ts';
import type { SessionClients } from '../port/session-clients.ts';
import type { SessionPort } from '../port/session-port.ts';
import { encodePeerMessages } from '../peers/peer-message.ts';
import type { Watches } from '../watches/watches.ts';
import type { ServerObserver } from './server-observer.ts';

const LOST = encodePeerMessages([{ type: 'lost' }]);
const NO_OUTPUTS: readonly Output[] = [];

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
  readonly clients: SessionClients;
  readonly port: SessionPort;
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
    });
    const { counters, state, connections, clients, port, availability, diskGuard } = this.#parts;
    this.counters = counters;
    this.state = state;
    this.connections = connections;
    this.clients = clients;
    this.port = port;
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

  /** Clients that were welcomed and are not attached yet, how many others were sent away, and deadlines moved on for them. */
  get crowd(): { readonly underWay: number; readonly sentAway: number; readonly extensions: number } {
    const { admission, leases } = this.#parts;
    return { underWay: admission.underWay, sentAway: admission.sentAway, extensions: leases.extensions };
  }

  /** What clients are sent of the time over which they should spread. */
  get spreadMs(): number {
    return this.#parts.crowdSpread.ms;
  }

  get watches(): Pick<Watches, 'size' | 'slow' | 'history'> {
    return this.#parts.watches;
  }

  get parkedBytes(): number {
    return this.#parts.proposals.parkedBytes;
  }

  /** As when nobody renews that session any more. False, without effect, where this server does not lead it. */
  expireSession(session: number): boolean {
    return this.#parts.leases.expire(session);
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
    // Nobody notifies a removed server of who leads the others.
    if (leader === 0 && !this.#removed) return;
    if (this.connections.askToLeave()) await this.connections.drained(LEAVE_WAIT_MS, this.#deps.clock);
  }

  disconnectClients(): void {
    this.#endOfTurn();
    this.#parts.hooks.stop();
  }

  apply(entry: Entry): void {
    this.#applying = true;
    this.counters.entriesApplied += 1;
    const isCommand = entry.type === EntryType.command;
    if (!isCommand) this.state.applyNoop(entry.index);
    const outputs = isCommand ? this.state.apply(entry.index, entry.data) : NO_OUTPUTS;
    this.#deps.observer?.applied?.(entry, outputs, this.state);
    this.#parts.hooks.applied(entry, outputs);
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
    this.#parts.hooks.restoring();
    restored.adopt();
    this.#deps.observer?.restored?.(index, this.state);
    this.#parts.hooks.restored(index);
    // Reads may have waited for entries that the snapshot holds.
    this.#wake();
  }

  flush(): void {
    this.#applying = false;
    this.#endOfTurn();
  }

  statusChanged(status: ReplicaStatus): void {
    this.#parts.hooks.statusChanged(status);
  }

  proposalRejected(data: Uint8Array, reason: RejectReason): void {
    this.#parts.proposals.rejected(data, reason);
  }

  peerMessage(from: ServerId, payload: Uint8Array): void {
    this.#parts.inbox.received(from, payload);
  }

  peerDisconnected(peer: ServerId): void {
    this.#parts.hooks.connectionLost(peer, 'disconnected');
    // Its side may not know that what it said is lost; if this does not reach it, it has lost us as well and hears of that.
    this.#handle().sendToPeer(peer, LOST);
  }

  peersChanged(): void {
    this.#parts.requests.shareAmong(this.peers.length);
    this.#parts.hooks.membersChanged();
  }

  removed(): void {
    this.#removed = true;
    if (this.#deps.removed === undefined) this.fatal(new ExpelledError('MEMBER_REMOVED', this.#options.serverId));
    else this.#deps.removed();
  }

  fatal(error: unknown): void {
    if (this.availability.failed) return;
    this.#parts.hooks.fail();
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
    this.#parts.hooks.endOfTurn();
  }
}
