/**
 * Refuses writes before a disk is full. Every follower reports its disk to the leader; while the leader's own disk is low, or so many
 * members' that the rest is no quorum, the leader puts a refusal in the place of each request that needs more disk. What gives
 * something back goes on, as do reads and renewals. A single low follower stops nothing, and a low leader first tries a transfer.
 */

import { CommandType, encodeCommand } from '@holdfast/protocol';
import type { PeerInfo, ReplicaHandle, ReplicaStatus, ServerId } from '@holdfast/raft';
import type { Clock, Logger } from '@holdfast/runtime';
import { decodeEntryHeader, encodeEntry, entryCommand } from '@holdfast/state';
import type { ServerCounters } from '../counters.ts';
import type { OwnDisk } from './disk-space.ts';
import { DISK_TRANSFER_PAUSE_MS, MAX_DISK_REFUSALS, MAX_DISK_SESSIONS } from '../limits.ts';
import type { PeerHandlers, ServerPart } from '../machine/server-part.ts';
import type { PeerMessage } from '../peers/peer-message.ts';

const NOBODY = 0;

/** They end or remove something; an attach is needed for that, and those that would make a session are judged where they arrive. */
const GIVES_BACK: ReadonlySet<number> = new Set([
  CommandType.attach,
  CommandType.closeSession,
  CommandType.delete,
  CommandType.release,
  CommandType.cancel,
  CommandType.downgrade,
  CommandType.revoke,
  CommandType.requestRelease,
  CommandType.enforceRelease,
  CommandType.expireSession,
  CommandType.continueEnd,
  CommandType.removeUnused,
  CommandType.endLockDelay,
  CommandType.refuse,
]);

export interface DiskGuardDeps {
  readonly serverId: ServerId;
  readonly own: OwnDisk;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counters: ServerCounters;
  handle(): ReplicaHandle;
  /** Best effort; it is said again. */
  say(peer: ServerId, message: PeerMessage): void;
}

export class DiskGuard implements ServerPart {
  readonly memberMessages: PeerHandlers = { 'disk-report': (from, { low }) => this.#reported(from, low) };
  readonly peerMessages: PeerHandlers = { 'disk-shortage': (from, { server }) => this.#leaderReported(from, server) };
  readonly #deps: DiskGuardDeps;
  /** As leader: which followers' disks are low, of those that have reported. */
  readonly #lowPeers = new Map<ServerId, boolean>();
  #leader: number = NOBODY;
  #term = 0;
  /** The server for whose disk writes are refused. A follower has it from the leader. */
  #shortOf: number = NOBODY;
  /** Since the last check, as those below. */
  #refusals = 0;
  /** Sessions that were let in to give something back. */
  #sessions = 0;
  #transferredAtMs = -Infinity;

  constructor(deps: DiskGuardDeps) {
    this.#deps = deps;
  }

  /** 0 while writes are accepted. */
  get shortOf(): number {
    return this.#shortOf;
  }

  /** Undefined while writes are accepted. */
  get problem(): string | undefined {
    if (this.#shortOf === NOBODY) return undefined;
    return `new sessions and writes are refused: the disk of server ${this.#shortOf} is almost full; free space there`;
  }

  /**
   * Why no session may be made here now; undefined when one may. One that is to give something back may, a few between two checks: who
   * has none could free nothing otherwise.
   */
  sessionProblem(givesBack: boolean): string | undefined {
    const { problem } = this;
    if (problem === undefined || !givesBack || this.#sessions >= MAX_DISK_SESSIONS) return problem;
    this.#sessions += 1;
    return undefined;
  }

  /** The own disk was asked. */
  checked(): void {
    this.#refusals = 0;
    this.#sessions = 0;
    if (this.#leads) this.#decide();
    else this.#report();
  }

  statusChanged({ leader, term }: ReplicaStatus): void {
    if (leader === this.#leader && term === this.#term) return;
    this.#leader = leader;
    this.#term = term;
    this.#lowPeers.clear();
    this.#shortOf = NOBODY;
    // The rest can wait for the next check: whoever has not reported is taken to have room.
    if (this.#leads) this.#decide();
    else if (this.#deps.own.low) this.#report();
  }

  /** A follower reports to the leader. */
  #reported(from: ServerId, low: boolean): void {
    if (!this.#leads) return;
    this.#lowPeers.set(from, low);
    this.#decide();
    this.#deps.say(from, { type: 'disk-shortage', server: this.#shortOf });
  }

  /** The leader reports to a follower. */
  #leaderReported(from: ServerId, server: number): void {
    if (from === this.#leader && !this.#leads) this.#shortOf = server;
  }

  /** As leader: what to propose for `entry`, itself or a refusal in its place; undefined when it must be asked for again. */
  admit(entry: Uint8Array): Uint8Array | undefined {
    if (this.#shortOf === NOBODY || GIVES_BACK.has(entryCommand(entry))) return entry;
    this.#deps.counters.diskRefusals += 1;
    // Refusals need disk, too.
    if (this.#refusals >= MAX_DISK_REFUSALS) return undefined;
    this.#refusals += 1;
    const { session, generation, number, ackedUpTo } = decodeEntryHeader(entry);
    const header = { command: CommandType.refuse, session, generation, number, ackedUpTo };
    return encodeEntry(header, encodeCommand({ type: 'refuse', server: this.#shortOf }));
  }

  get #leads(): boolean {
    return this.#leader === this.#deps.serverId;
  }

  #report(): void {
    if (this.#leader === NOBODY) return;
    this.#deps.say(this.#leader as ServerId, { type: 'disk-report', low: this.#deps.own.low });
  }

  #decide(): void {
    const shortOf = this.#shortage();
    if (shortOf === this.#shortOf) return;
    this.#shortOf = shortOf;
    const { logger } = this.#deps;
    if (shortOf === NOBODY) logger.info({}, 'there is room on the disks; writes are accepted again');
    else logger.warn({ peer: shortOf }, 'writes are refused until the disk of this server has room');
    for (const { id } of this.#deps.handle().peers) {
      if (id !== this.#deps.serverId) this.#deps.say(id, { type: 'disk-shortage', server: shortOf });
    }
  }

  /** The server for whose disk writes must be refused; NOBODY when a quorum has room. */
  #shortage(): number {
    const { serverId, own } = this.#deps;
    const peers = this.#voters();
    const quorum = Math.floor(peers.length / 2) + 1;
    if (own.low) return this.#transfers(quorum) ? NOBODY : serverId;
    const low = peers.filter(({ id }) => this.#lowPeers.get(id) === true);
    const writable = peers.filter(({ id, connected }) => connected && this.#lowPeers.get(id) !== true);
    return writable.length >= quorum ? NOBODY : (low[0]?.id ?? NOBODY);
  }

  #voters(): readonly PeerInfo[] {
    return this.#deps.handle().peers.filter(({ role }) => role === 'voter');
  }

  /** Whether a quorum without this server is known to have room, and is being asked to take over; not again and again. */
  #transfers(quorum: number): boolean {
    const { clock, logger } = this.#deps;
    const roomy = this.#voters().filter(({ id, connected }) => connected && this.#lowPeers.get(id) === false);
    if (roomy.length < quorum || clock.monotonicMs() - this.#transferredAtMs < DISK_TRANSFER_PAUSE_MS) return false;
    this.#transferredAtMs = clock.monotonicMs();
    logger.warn({ freeBytes: this.#deps.own.freeBytes }, 'the disk is almost full; transferring leadership');
    this.#deps.handle().transferLeadership();
    return true;
  }
}
