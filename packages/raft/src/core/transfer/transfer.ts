/**
 * Leadership transfer (thesis 3.10): to a named follower or to the best one, which must be connected and heard of late. Proposals
 * that arrive meanwhile are held back: they go into the own log after all when nobody takes over, and back to the driver, for the
 * new leader, when somebody does. Reads go on, since each is confirmed by a quorum of this term or not at all.
 */

import type { CoreState } from '../core-state.ts';
import type { TransferOutcome } from '../event.ts';
import { progressOf } from '../replication/followers.ts';
import type { Leader } from '../roles/leader.ts';
import type { Progress } from '../replication/progress.ts';
import { appendProposals } from '../replication/proposals.ts';
import { isNewLeader } from '../election/quorum-contact.ts';
import { bestSuccessor, mayLeadNext } from './successor.ts';
import type { Transfer } from './transfer-under-way.ts';
import { ENTRY_OVERHEAD_BYTES, NO_SERVER, nextIndex, type ServerId } from '../types.ts';

/** `target` undefined: the best follower. */
export function onTransfer(core: CoreState, ticket: number, target: ServerId | undefined): void {
  if (core.role.type !== 'leader') {
    core.effect({ type: 'transfer-ended', tickets: [ticket], outcome: 'not-leader', target: target ?? NO_SERVER });
    return;
  }
  const leader = core.role;
  const under = leader.transfer;
  if (under !== undefined && (target === undefined || target === under.target)) {
    under.tickets.push(ticket);
    return;
  }
  const chosen = target ?? bestTarget(core, leader);
  const refusal = under === undefined ? refusalOf(core, leader, chosen) : 'in-progress';
  if (refusal !== undefined || chosen === undefined) {
    const outcome = refusal ?? 'no-target';
    core.effect({ type: 'transfer-ended', tickets: [ticket], outcome, target: target ?? NO_SERVER });
    return;
  }
  leader.transfer = {
    target: chosen,
    tickets: [ticket],
    elapsedMs: 0,
    timeoutNowSent: false,
    held: [],
    heldBytes: 0,
    full: false,
  };
}

/** Takes proposals over; true when they wait or were refused, so that the log is not to grow by them. */
export function holdProposals(core: CoreState, leader: Leader, commands: readonly Uint8Array[]): boolean {
  const { transfer } = leader;
  if (transfer === undefined) return false;
  for (const [position, data] of commands.entries()) {
    const bytes = data.length + ENTRY_OVERHEAD_BYTES;
    const before = leader.uncommittedBytes + transfer.heldBytes;
    transfer.full ||= before > 0 && before + bytes > core.config.maxUncommittedBytes;
    if (transfer.full) {
      core.effect({ type: 'proposals-rejected', commands: commands.slice(position), reason: 'overloaded' });
      return true;
    }
    transfer.held.push(data);
    transfer.heldBytes += bytes;
  }
  return true;
}

/** At the end of a group. The target's log must be durable to the end: it has to win. */
export function continueTransfer(core: CoreState, leader: Leader): void {
  const { transfer } = leader;
  if (transfer === undefined || transfer.timeoutNowSent) return;
  const target = leader.progress.get(transfer.target);
  if (target === undefined) {
    // It was removed meanwhile.
    resume(core, leader, transfer, 'unknown-target');
    return;
  }
  if (target.match < core.log.lastIndex) return;
  transfer.timeoutNowSent = true;
  core.send(transfer.target, { type: 'timeout-now', term: core.term });
}

export function tickTransfer(core: CoreState, leader: Leader, elapsedMs: number): void {
  const { transfer } = leader;
  if (transfer === undefined) return;
  transfer.elapsedMs += elapsedMs;
  if (transfer.elapsedMs >= core.config.electionTimeoutMs) resume(core, leader, transfer, 'timed-out');
}

/** Milliseconds until a transfer under way is given up; Infinity without one. */
export function transferDueMs({ config }: CoreState, { transfer }: Leader): number {
  return transfer === undefined ? Infinity : config.electionTimeoutMs - transfer.elapsedMs;
}

/** What the target was sent may be lost: there is nothing to wait for. Should it stand all the same, that is an ordinary election. */
export function targetDisconnected(core: CoreState, leader: Leader, peer: ServerId): void {
  const { transfer } = leader;
  if (transfer?.target === peer) resume(core, leader, transfer, 'target-unreachable');
}

/** The leader steps down, whoever made it. */
export function leaveTransfer(core: CoreState, { term, transfer }: Leader): void {
  if (transfer === undefined) return;
  const { timeoutNowSent, target, tickets, held } = transfer;
  if (timeoutNowSent) core.lastTransfer = { target, term };
  core.effect({ type: 'transfer-ended', tickets, outcome: timeoutNowSent ? 'transferred' : 'lost-leadership', target });
  if (held.length === 0) return;
  core.effect({ type: 'proposals-rejected', commands: held, reason: timeoutNowSent ? 'transferred' : 'not-leader' });
}

/**
 * The server that has everything that this one ever had as leader, if it is the one that leads the present term; NO_SERVER when that
 * can't be said. In the term after the transfer the target stood with the whole log, and nobody else can have made it longer.
 *
 *     term 4   S1 leads, brings S2 up to its last entry, sends it timeout-now, and appends nothing more
 *     term 5   if S2 leads it, it has all that S1 ever appended; if S3 does, which won by its own timer, it may lack what is not committed
 *     term 6   whoever leads it, S3 may have led term 5 meanwhile and replaced what was not committed
 */
export function successorOf(core: CoreState): ServerId {
  const { lastTransfer, leader } = core;
  if (lastTransfer === undefined || core.term !== lastTransfer.term + 1) return NO_SERVER;
  return leader === NO_SERVER || leader === lastTransfer.target ? lastTransfer.target : NO_SERVER;
}

function resume(core: CoreState, leader: Leader, { tickets, target, held }: Transfer, outcome: TransferOutcome): void {
  leader.transfer = undefined;
  core.effect({ type: 'transfer-ended', tickets, outcome, target });
  appendProposals(core, leader, held);
}

function refusalOf(core: CoreState, leader: Leader, target: ServerId | undefined): TransferOutcome | undefined {
  if (target === undefined) return 'no-target';
  if (target === core.config.id) return 'already-leader';
  if (!mayLeadNext(core, target)) return 'unknown-target';
  const progress = progressOf(leader, target);
  const mayAnswer = progress.isAlive(core.countedMs) || (progress.connected && isNewLeader(core, leader));
  if (!mayAnswer) return 'target-unreachable';
  return isBehind(core, progress) ? 'target-behind' : undefined;
}

function bestTarget(core: CoreState, leader: Leader): ServerId | undefined {
  const successor = bestSuccessor(core, leader);
  // When memory no longer holds what the furthest lacks, nor does it for the others.
  return successor === NO_SERVER || isBehind(core, progressOf(leader, successor)) ? undefined : successor;
}

/** It lacks entries that memory no longer holds: bringing it up to the end would hold writes back for too long. */
function isBehind(core: CoreState, progress: Progress): boolean {
  return nextIndex(progress.match) < core.log.tailFirst;
}
