/**
 * A replica: the driver around the pure core, and the only asynchronous part of consensus. It is what the machine and the server ask,
 * and it starts and stops. What a turn does is in turn.ts, when one is taken in turn-schedule.ts.
 */

import type { Address } from '@holdfast/runtime';
import {
  NO_SERVER,
  type ElectionCounts,
  type MembershipChange,
  type ServerId,
  type TransferOutcome,
} from '../core/index.ts';
import type { LogStore } from '../log-store/contract/log-store.ts';
import type { PeerInfo, ReplicaHandle, ReplicaMachine, ReplicaStatus } from '../machine.ts';
import type { SnapshotCounters } from '../snapshots/replica-snapshots.ts';
import { createDriverParts, type DriverParts, type ReplicaOptions, type ReplicaWorld } from './driver-parts.ts';
import type { ChangeCallback, ReadCallback, TransferCallback } from './pending-calls.ts';
import type { StageHistograms } from './stages/stage-clock.ts';

export class Replica implements ReplicaHandle {
  readonly #store: LogStore;
  readonly #machine: ReplicaMachine;
  readonly #parts: DriverParts;

  constructor(options: ReplicaOptions, store: LogStore, machine: ReplicaMachine, world: ReplicaWorld) {
    this.#store = store;
    this.#machine = machine;
    this.#parts = createDriverParts(options, store, machine, world, (error) => this.#fail(error));
  }

  get status(): ReplicaStatus {
    return this.#parts.status.status;
  }

  /** Durable writes to the log since the start; each carries everything that had gathered. */
  get logWrites(): number {
    return this.#parts.writer.writes;
  }

  /** Whether a write is under way for so long that this server neither leads nor votes. */
  get diskStalls(): boolean {
    return this.#parts.status.diskStalls;
  }

  get peers(): readonly PeerInfo[] {
    return this.#parts.mesh.peers;
  }

  /** Where peers reach this server, with the real port; empty before start. */
  get peerAddress(): Address {
    return this.#parts.mesh.address;
  }

  /** Snapshots since the start: taken of the own state, and installed in its place. */
  get snapshotCounters(): Readonly<SnapshotCounters> {
    return this.#parts.snapshots.counters;
  }

  /** How long batches took to become durable, committed and applied while this server led. */
  get stageHistograms(): StageHistograms {
    return this.#parts.stages.histograms;
  }

  /** Elections that this server has begun, by their cause. */
  get elections(): ElectionCounts {
    return this.#parts.core.elections;
  }

  /** How often whoever is at a peer's address did not let this server in. */
  get refusalsHeard(): number {
    return this.#parts.membership.refusalsHeard;
  }

  /** Connections with peers that were closed because nothing was heard on them any more. */
  get silences(): number {
    return this.#parts.mesh.silences;
  }

  /** Leadership transfers by this server, by their outcome. */
  get transferCounts(): ReadonlyMap<TransferOutcome, number> {
    return this.#parts.calls.transferCounts;
  }

  /** @throws ListenError, DamagedLogError, DiskError, and what the machine's restore rejects with */
  async start(): Promise<void> {
    const { snapshots, status, mesh, schedule } = this.#parts;
    await snapshots.restoreAtStart();
    status.refresh();
    await mesh.start();
    schedule.start();
  }

  /** Transfers leadership when it has it, and waits until another leader is known; not for long. Goes on as a follower. */
  async transferBeforeStop(): Promise<void> {
    const { schedule, core, mesh, shutdownTransfer } = this.#parts;
    if (!schedule.running || core.status.role !== 'leader' || mesh.empty) return;
    await shutdownTransfer.run((ended) => this.transferLeadership(undefined, ended));
  }

  /** Transfers leadership when it has it, waits for the write under way, and closes everything, the log store included. */
  async stop(): Promise<void> {
    await this.transferBeforeStop();
    this.#halt();
    const { mesh, inbound, writer, snapshots } = this.#parts;
    await mesh.stopListening();
    inbound.stop();
    await writer.stop();
    await snapshots.stop();
    await this.#store.close();
  }

  propose(data: Uint8Array): void {
    const { schedule, inbox } = this.#parts;
    if (schedule.running) inbox.proposal(data);
    else this.#machine.proposalRejected(data, 'stopped');
  }

  readIndex(callback: ReadCallback): void {
    const { schedule, inbox, calls } = this.#parts;
    if (schedule.running) inbox.event({ type: 'read-index', ticket: calls.addRead(callback) });
    else callback('stopped');
  }

  changeMembership(change: MembershipChange, callback: ChangeCallback): void {
    const { schedule, core, mesh, inbox, calls } = this.#parts;
    if (!schedule.running) callback('stopped');
    else if (core.status.role === 'leader' && !mesh.allTakeConfigurations(change.id))
      callback({ type: 'refused', reason: 'unsupported' });
    else inbox.event({ type: 'change-membership', ticket: calls.addChange(change, callback), change });
  }

  sendToPeer(peer: ServerId, payload: Uint8Array): boolean {
    const { mesh, schedule } = this.#parts;
    const queued = mesh.sendPayload(peer, payload);
    schedule.wake();
    return queued;
  }

  transferLeadership(target?: ServerId, ended: TransferCallback = () => {}): void {
    const { schedule, inbox, calls } = this.#parts;
    if (schedule.running) inbox.event({ type: 'transfer', ticket: calls.addTransfer(ended), target });
    else ended({ outcome: 'not-leader', target: target ?? NO_SERVER });
  }

  setEagerCommit(eager: boolean): void {
    this.#parts.inbox.event({ type: 'eager-commit', eager });
  }

  #fail(error: unknown): void {
    if (!this.#parts.schedule.running) return;
    this.#halt();
    this.#machine.fatal(error);
  }

  #halt(): void {
    this.#parts.hooks.halt();
  }
}
