/**
 * Elections: pre-vote (thesis 9.6), votes (3.4, 3.6.1), stickiness to a leader that is alive (4.2.3), and fast rounds after the
 * leader's process is known to be gone.
 */

import { heldByQuorums } from '../quorum/active-quorums.ts';
import type { CoreState } from '../core-state.ts';
import { diskStalls } from './disk-stall.ts';
import { REFUSED_ELECTION_DELAY_MS, REFUSED_ELECTION_ROUND_MS, REFUSED_ELECTION_ROUNDS } from '../config.ts';
import { becomeCandidate, becomeFollower, becomeLeader, becomePreCandidate } from '../roles/transitions.ts';
import type { ElectionTimer } from '../roles/role-state.ts';
import { NO_SERVER, type MessageOf, type ServerId, type Term } from '../types.ts';

/**
 * Asks whether an election could be won, before any term changes (thesis 9.6): only a server that would get the votes of a majority
 * raises its term. One that was cut off for long so disturbs nobody on its return, whose term would otherwise depose the leader.
 */
export function startPreVote(core: CoreState): void {
  const { votes, timer } = becomePreCandidate(core);
  startFastRound(core, timer);
  votes.set(core.config.id, true);
  for (const peer of core.membership.electorate) {
    core.send(peer, {
      type: 'pre-vote',
      term: (core.term + 1) as Term,
      lastIndex: core.log.lastIndex,
      lastTerm: core.log.lastTerm,
    });
  }
  countPreVotes(core);
}

function startElection(core: CoreState, transfer: boolean): void {
  const { timer } = becomeCandidate(core);
  core.elections[transfer ? 'transfer' : timer.fastRounds > 0 ? 'refused' : 'timeout'] += 1;
  if (timer.fastRounds > 0) timer.timeoutMs = REFUSED_ELECTION_ROUND_MS * (1 + core.random());
  for (const peer of core.membership.electorate) {
    core.send(peer, {
      type: 'vote',
      term: core.term,
      lastIndex: core.log.lastIndex,
      lastTerm: core.log.lastTerm,
      transfer,
    });
  }
}

/** The election timeout of a server that has no vote to ask for: it only stops sticking to its leader. */
export function forgetLeader(core: CoreState): void {
  becomeFollower(core, core.term, NO_SERVER).timer.fastRounds = 0;
}

/** After a refusal: the wait until the next pre-vote of its own, a few times. */
function startFastRound(core: CoreState, timer: ElectionTimer): void {
  if (timer.fastRounds === 0) return;
  timer.fastRounds -= 1;
  timer.restart(REFUSED_ELECTION_ROUND_MS * (1 + core.random()));
}

/** Nothing listens at the leader's address, so there is no leader to stick to; a connection that merely closed proves nothing. */
export function onPeerRefused(core: CoreState, peer: ServerId): void {
  const { role } = core;
  if (role.type !== 'follower' || role.leader !== peer) return;
  role.leader = NO_SERVER;
  role.timer.fastRounds = REFUSED_ELECTION_ROUNDS;
  role.timer.restart(core.random() * REFUSED_ELECTION_DELAY_MS);
}

export function onPreVote(core: CoreState, from: ServerId, message: MessageOf<'pre-vote'>): void {
  const granted =
    message.term > core.term &&
    !sticksToLeader(core, from) &&
    mayVote(core) &&
    core.log.isUpToDate(message.lastIndex, message.lastTerm);
  core.send(from, {
    type: 'pre-vote-response',
    term: granted ? message.term : core.term,
    askedTerm: message.term,
    granted,
  });
  // With no leader to stick to, one candidacy at a time: whoever asked first is given a round, or most rounds split the votes.
  if (granted && core.role.type === 'follower') startFastRound(core, core.role.timer);
}

export function onPreVoteResponse(core: CoreState, from: ServerId, message: MessageOf<'pre-vote-response'>): void {
  // A refusal teaches the higher term, or two servers with the longer log and the higher term would block each other for ever.
  if (!message.granted && message.term > core.term) {
    becomeFollower(core, message.term, NO_SERVER);
    return;
  }
  if (core.role.type !== 'pre-candidate' || message.askedTerm !== core.term + 1) return;
  core.role.votes.set(from, message.granted);
  countPreVotes(core);
}

export function onVote(core: CoreState, from: ServerId, message: MessageOf<'vote'>): void {
  if (message.term > core.term && (message.transfer || !sticksToLeader(core, from))) {
    becomeFollower(core, message.term, NO_SERVER);
  }
  // A candidate and a leader have voted for themselves in their term; one that only asks for pre-votes may still be free.
  const free = core.votedFor === NO_SERVER || core.votedFor === from;
  const granted =
    message.term === core.term && free && mayVote(core) && core.log.isUpToDate(message.lastIndex, message.lastTerm);
  if (granted) {
    core.setHardState(core.term, from);
    if (core.role.type === 'pre-candidate') becomeFollower(core, core.term, NO_SERVER);
    resetElectionTimer(core);
  }
  core.send(from, { type: 'vote-response', term: core.term, granted });
}

export function onVoteResponse(core: CoreState, from: ServerId, message: MessageOf<'vote-response'>): void {
  if (message.term > core.term) {
    becomeFollower(core, message.term, NO_SERVER);
    return;
  }
  if (core.role.type !== 'candidate' || message.term !== core.term) return;
  core.role.votes.set(from, message.granted);
  countVotes(core);
}

/** Also called when a write completes: the vote for itself counts once it is durable, which alone elects a single voter. */
export function countVotes(core: CoreState): void {
  const { role } = core;
  if (role.type !== 'candidate' || !core.writes.hardStatePersisted) return;
  role.votes.set(core.config.id, true);
  if (isElected(core, role.votes)) becomeLeader(core, role);
}

export function onTimeoutNow(core: CoreState, from: ServerId, message: MessageOf<'timeout-now'>): void {
  if (message.term !== core.term || core.role.type !== 'follower' || core.role.leader !== from || !mayVote(core))
    return;
  if (!core.mayStand) return;
  startElection(core, true);
}

export function resetElectionTimer(core: CoreState): void {
  if (core.role.type !== 'leader') core.role.timer.restart(core.randomElectionTimeoutMs());
}

/** Whether this server may take part in electing a leader, itself included. */
export function mayVote(core: CoreState): boolean {
  return core.voteBan === undefined && !diskStalls(core);
}

function countPreVotes(core: CoreState): void {
  const { role } = core;
  if (role.type === 'pre-candidate' && isElected(core, role.votes) && mayVote(core)) startElection(core, false);
}

function isElected(core: CoreState, votes: ReadonlyMap<ServerId, boolean>): boolean {
  return heldByQuorums(core.membership.voterSets, (voter) => votes.get(voter) === true);
}

/**
 * A server that has heard its leader within the shortest election timeout neither takes a higher term from a candidate nor votes for it
 * (thesis 4.2.3): a member that was removed, and does not know, deposes nobody. A leader within its quorum check does as much; the leader
 * itself may ask, when it transfers leadership.
 */
function sticksToLeader(core: CoreState, from: ServerId): boolean {
  const { role } = core;
  if (role.type === 'leader') return true;
  return core.leader !== NO_SERVER && core.leader !== from && role.timer.elapsedMs < core.config.electionTimeoutMs;
}
