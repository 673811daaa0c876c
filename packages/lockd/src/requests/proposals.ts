/**
 * The way of entries into the log: proposed here when this server leads, forwarded to the leader in one message a turn, or parked
 * in order while none is known. An entry is submitted once and never sent again from here: when it may have been lost, `lost` is
 * called and the clients, who know what is unanswered, send again.
 */

import { CommandType, isClientCommand, type ErrorCode } from '@holdfast/protocol';
import type { RejectReason, ReplicaStatus, ServerId } from '@holdfast/raft';
import type { Clock, Logger } from '@holdfast/runtime';
import { decodeEntryHeader, entryProblem, stampEntry } from '@holdfast/state';
import type { ServerCounters } from '../counters.ts';
import { MAX_PARKED_BYTES, MAX_PARKED_ENTRIES, MAX_PEER_PAYLOAD_BYTES } from '../limits.ts';
import type { ConnectionLoss, PeerHandlers, ServerPart } from '../machine/server-part.ts';
import type { CorrelationIds } from '../peers/correlation-ids.ts';
import type { PeerOutbox } from '../peers/peer-outbox.ts';
import type { CommitBatcher } from './batching/commit-batcher.ts';

export interface ProposalsDeps {
  readonly serverId: ServerId;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counters: ServerCounters;
  readonly correlations: CorrelationIds;
  readonly peers: PeerOutbox;
  readonly batcher: CommitBatcher;
  /** False once the servers disagree about the state. */
  acceptsWrites(): boolean;
  /** As leader: what to propose for the entry; undefined when it must be asked for again, for lack of disk. */
  admit(entry: Uint8Array): Uint8Array | undefined;
  /** A proposal of the session was received by the leader. */
  renew(session: number, nowMs: number): void;
  /** What was submitted and is not answered may never be: `code` says why. */
  lost(code: ErrorCode): void;
  /** One entry that was submitted here is not in the log. */
  refused(entry: Uint8Array, code: ErrorCode): void;
  wake(): void;
}

/** Which forward of which server an entry came with. */
interface Origin {
  readonly from: ServerId;
  readonly epoch: number;
  /** The other server was told, once for all entries of the message. */
  refused: boolean;
}

const NOBODY = 0;

export class Proposals implements ServerPart {
  readonly memberMessages: PeerHandlers = {
    forward: (from, { epoch, entries }) => this.#forwarded(from, epoch, entries),
  };
  readonly peerMessages: PeerHandlers = {
    'forward-refused': (from, { epoch, code }) => this.#forwardRefused(from, epoch, code),
  };
  readonly #deps: ProposalsDeps;
  #leader: number = NOBODY;
  #term = 0;
  /** Told apart by every reset, so that a late refusal of earlier forwards is not taken for one of the present ones. */
  #epoch: number;
  #forwards: Uint8Array[] = [];
  #parked: Uint8Array[] = [];
  /** Has everything that this server proposed, if it becomes the leader that is not known yet. */
  #awaited: number = NOBODY;
  #parkedBytes = 0;
  // Forwarded entries share the buffer that their message was copied into: one record a message, gone with its entries.
  readonly #origins = new WeakMap<ArrayBufferLike, Origin>();

  constructor(deps: ProposalsDeps) {
    this.#deps = deps;
    this.#epoch = deps.correlations.next();
  }

  get leader(): number {
    return this.#leader;
  }

  get isLeader(): boolean {
    return this.#leader === this.#deps.serverId;
  }

  get parkedBytes(): number {
    return this.#parkedBytes;
  }

  /**
   * False when no leader is known and there is no more room to park it: less than its connection has unanswered already, `own`, so that
   * one that floods is refused alone. `nowMs`: for whoever has asked the time already.
   */
  submit(entry: Uint8Array, session: number, own = 0, nowMs = this.#deps.clock.monotonicMs()): boolean {
    if (this.isLeader) {
      this.#propose(entry, session, this.#deps.serverId, nowMs);
    } else if (this.#leader !== NOBODY) {
      this.#forwards.push(entry);
      if (this.#forwards.length === 1) this.#deps.wake();
    } else {
      const room = MAX_PARKED_ENTRIES - this.#parked.length;
      if (room <= 0 || own > room || this.#parkedBytes + entry.length > MAX_PARKED_BYTES) return false;
      this.#park(entry);
    }
    return true;
  }

  statusChanged(status: ReplicaStatus): void {
    if (status.leader === this.#leader && status.term === this.#term) return;
    const before = this.#leader;
    this.#leader = status.leader;
    this.#term = status.term;
    if (before === this.#deps.serverId && status.successor !== NOBODY) this.#awaited = status.successor;
    else if (before !== NOBODY) this.#reset('LEADER_CHANGED');
    if (before === this.#deps.serverId) this.#takeBack(status.successor === NOBODY ? 'not-leader' : 'transferred');
    if (this.isLeader) this.#deps.batcher.lead();
    if (this.#awaited !== NOBODY) this.#awaitSuccessor(status);
    if (this.#leader !== NOBODY) this.#submitParked();
  }

  /**
   * After a transfer: when the successor leads, it has all that was proposed, and gets what was held back behind that. When somebody
   * else does, the clients send everything again, in order, and what is parked would only be in the way.
   */
  #awaitSuccessor({ leader, successor }: ReplicaStatus): void {
    if (successor === this.#awaited && leader === NOBODY) return;
    const succeeded = successor === this.#awaited;
    this.#awaited = NOBODY;
    if (succeeded) return;
    this.#dropParked();
    this.#reset('LEADER_CHANGED');
  }

  connectionLost(peer: ServerId, loss: ConnectionLoss): void {
    if (peer !== this.#leader || this.isLeader) return;
    this.#reset(loss === 'undelivered' ? 'OVERLOADED' : 'LEADER_CHANGED');
  }

  /** Its clients have been sent away. */
  contactLost(): void {
    this.#dropParked();
  }

  /** The leader has not proposed what was forwarded. */
  #forwardRefused(from: ServerId, epoch: number, code: ErrorCode): void {
    if (epoch === this.#epoch && from === this.#leader) this.#reset(code);
  }

  /** Proposes what another server has received. */
  #forwarded(from: ServerId, epoch: number, entries: readonly Uint8Array[]): void {
    if (!this.#deps.acceptsWrites() || !this.isLeader) {
      this.#deps.peers.send(from, { type: 'forward-refused', epoch, code: 'NO_LEADER' });
      return;
    }
    this.#deps.counters.entriesForwardedHere += entries.length;
    const copies = copyTogether(entries);
    const first = copies[0];
    if (first !== undefined) this.#origins.set(first.buffer, { from, epoch, refused: false });
    const refused = new Set<number>();
    const nowMs = this.#deps.clock.monotonicMs();
    for (const entry of copies) this.#proposeForwarded(from, entry, refused, nowMs);
  }

  /** The replica refused a proposal; it is not in the log. */
  rejected(entry: Uint8Array, reason: RejectReason): void {
    const own = !this.#origins.has(entry.buffer) && isClientCommand(decodeEntryHeader(entry).command);
    if (reason === 'transferred' && own) this.#park(entry);
    else this.#refuse(entry, rejectionCode(reason));
  }

  /** What was about to be proposed here. */
  #takeBack(reason: RejectReason): void {
    for (const entry of this.#deps.batcher.standDown()) this.rejected(entry, reason);
  }

  #dropParked(): void {
    this.#parked = [];
    this.#parkedBytes = 0;
  }

  endOfTurn(): void {
    if (this.#forwards.length === 0) return;
    const entries = this.#forwards;
    this.#forwards = [];
    this.#deps.counters.entriesForwarded += entries.length;
    let batch: Uint8Array[] = [];
    let bytes = 0;
    for (const entry of entries) {
      if (batch.length > 0 && bytes + entry.length > MAX_PEER_PAYLOAD_BYTES) {
        this.#sendForward(batch);
        batch = [];
        bytes = 0;
      }
      batch.push(entry);
      bytes += entry.length;
    }
    this.#sendForward(batch);
  }

  #sendForward(entries: readonly Uint8Array[]): void {
    this.#deps.peers.send(this.#leader as ServerId, { type: 'forward', epoch: this.#epoch, entries });
  }

  /** `via`: the server whose client asked, whatever the entry says. False when it was refused instead. */
  #propose(entry: Uint8Array, session: number, via: ServerId, nowMs: number): boolean {
    let admitted = this.#deps.admit(entry);
    if (admitted === undefined) {
      this.#refuse(entry, 'DISK_FULL');
      return false;
    }
    const origin = admitted === entry ? undefined : this.#origins.get(entry.buffer);
    if (origin !== undefined) {
      // Its buffer may have entries of this server's clients, too.
      admitted = admitted.slice();
      this.#origins.set(admitted.buffer, origin);
    }
    stampEntry(admitted, this.#deps.clock.wallMs(), via);
    if (session !== 0) this.#deps.renew(session, nowMs);
    this.#deps.counters.entriesProposed += 1;
    this.#deps.batcher.propose(admitted, nowMs);
    return true;
  }

  #refuse(entry: Uint8Array, code: ErrorCode): void {
    const origin = this.#origins.get(entry.buffer);
    if (origin === undefined) {
      this.#deps.refused(entry, code);
      return;
    }
    // It starts a new series of forwards with that.
    if (origin.refused) return;
    origin.refused = true;
    this.#deps.peers.send(origin.from, { type: 'forward-refused', epoch: origin.epoch, code });
  }

  /** `refused`: sessions of which an entry of the same message was refused, so that later ones would leave a gap. */
  #proposeForwarded(from: ServerId, entry: Uint8Array, refused: Set<number>, nowMs: number): void {
    const problem = entryProblem(entry);
    const header = problem === undefined ? decodeEntryHeader(entry) : undefined;
    if (header === undefined || !isClientCommand(header.command)) {
      // In the log it would stop every server; refused, it is asked for again, of whoever leads then.
      this.#deps.logger.error(
        { peer: from, problem: problem ?? `has the command number ${header?.command}, which no client may use` },
        'a server forwarded an entry that this version does not know; it was refused: run the same version everywhere',
      );
      if (header !== undefined) refused.add(header.session);
      this.#refuse(entry, 'UNSUPPORTED');
      return;
    }
    const session = header.command === CommandType.attach ? 0 : header.session;
    if (!refused.has(session) && !this.#propose(entry, session, from, nowMs)) refused.add(session);
  }

  /** What was held back during a transfer comes on top of the limits: the replica has its own for that. */
  #park(entry: Uint8Array): void {
    this.#parked.push(entry);
    this.#parkedBytes += entry.length;
  }

  #submitParked(): void {
    const parked = this.#parked;
    this.#dropParked();
    for (const entry of parked) this.submit(entry, this.isLeader ? decodeEntryHeader(entry).session : 0);
  }

  #reset(code: ErrorCode): void {
    this.#epoch = this.#deps.correlations.next();
    this.#forwards = [];
    this.#deps.lost(code);
  }
}

/** Copies of all entries, one behind the other in one new buffer: what was given are views of a frame. */
function copyTogether(entries: readonly Uint8Array[]): Uint8Array[] {
  const buffer = new Uint8Array(entries.reduce((sum, entry) => sum + entry.length, 0));
  let offset = 0;
  return entries.map((entry) => {
    buffer.set(entry, offset);
    offset += entry.length;
    return buffer.subarray(offset - entry.length, offset);
  });
}

function rejectionCode(reason: RejectReason): ErrorCode {
  switch (reason) {
    case 'not-leader':
    case 'transferred':
      return 'NO_LEADER';
    case 'overloaded':
      return 'OVERLOADED';
    case 'stopped':
      return 'SHUTTING_DOWN';
  }
}
