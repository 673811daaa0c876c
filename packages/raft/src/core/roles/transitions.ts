/** Changes of role. The rules of who may become what are with the messages; here is what each change begins and ends. */

import type { CoreState } from '../core-state.ts';
import { invariant } from '../invariant.ts';
import { Leader } from './leader.ts';
import { Candidate, ElectionTimer, Follower, PreCandidate } from './role-state.ts';
import { leaveTransfer } from '../transfer/transfer.ts';
import { EntryType, NO_SERVER, nextIndex, type ServerId, type Term } from '../types.ts';

const NO_DATA = new Uint8Array(0);

/** Within a term the vote is kept: a candidate that hears the term's leader must not vote again. */
export function becomeFollower(core: CoreState, term: Term, leader: ServerId): Follower {
  if (term > core.term) core.setHardState(term, NO_SERVER);
  if (core.role.type === 'leader') stepDown(core, core.role);
  const follower = new Follower(leader, nextTimer(core, leader === NO_SERVER));
  core.role = follower;
  core.quorumLost = false;
  return follower;
}

export function becomePreCandidate(core: CoreState): PreCandidate {
  invariant(core.role.type !== 'leader', 'a-leader-does-not-stand');
  const preCandidate = new PreCandidate(nextTimer(core, true));
  core.role = preCandidate;
  return preCandidate;
}

export function becomeCandidate(core: CoreState): Candidate {
  invariant(core.role.type !== 'leader', 'a-leader-does-not-stand');
  core.setHardState((core.term + 1) as Term, core.config.id);
  const candidate = new Candidate(nextTimer(core, true));
  core.role = candidate;
  return candidate;
}

export function becomeLeader(core: CoreState, { votes }: Candidate): void {
  invariant(core.role.type === 'candidate', 'only-a-candidate-becomes-leader');
  invariant(core.writes.hardStatePersisted, 'a-leader-s-own-vote-is-durable');
  const next = nextIndex(core.log.lastIndex);
  const leader = new Leader(core.term, next, core.countedMs, core.config);
  leader.follow(core.membership, core.connected, next);
  // Those that voted for it were heard just now, and of the others nothing is known.
  for (const [peer, progress] of leader.progress) if (votes.get(peer) === true) progress.heardMs = core.countedMs;
  core.role = leader;
  core.quorumLost = false;
  core.lastTransfer = undefined;
  core.appendEntry({ index: leader.noopIndex, term: core.term, type: EntryType.noop, data: NO_DATA });
}

/** Each role begins with a whole timeout; the fast rounds go on until somebody leads. */
function nextTimer(core: CoreState, leaderless: boolean): ElectionTimer {
  const fastRounds = leaderless && core.role.type !== 'leader' ? core.role.timer.fastRounds : 0;
  return new ElectionTimer(core.randomElectionTimeoutMs(), fastRounds);
}

/** Everyone who waits for the leader is answered; what it knew of its peers goes with it. */
function stepDown(core: CoreState, leader: Leader): void {
  rejectReads(core, leader);
  endChanges(core, leader);
  leaveTransfer(core, leader);
}

function rejectReads(core: CoreState, { readRounds, pendingTickets }: Leader): void {
  const tickets = [...readRounds.flatMap((round) => round.tickets), ...pendingTickets];
  if (tickets.length > 0) core.effect({ type: 'read-rejected', tickets, reason: 'not-leader' });
}

/** With the leadership goes the knowledge of how changes end. */
function endChanges(core: CoreState, { changeTicket, catchUps }: Leader): void {
  for (const ticket of [changeTicket, ...[...catchUps.values()].map((each) => each.ticket)]) {
    if (ticket !== undefined) core.effect({ type: 'membership-ended', ticket, outcome: { type: 'unknown' } });
  }
}
