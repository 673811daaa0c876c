/** Changes of role. The rules of who may become what are with the messages; here is what each change resets. */

import type { CoreState } from './core-state.ts';
import { invariant } from './invariant.ts';
import { leaveTransfer } from './transfer.ts';
import { EntryType, NO_SERVER, logIndex, nextIndex, type ServerId, type Term } from './types.ts';

const NO_DATA = new Uint8Array(0);

/** Within a term the vote is kept: a candidate that hears the term's leader must not vote again. */
export function becomeFollower(core: CoreState, term: Term, leader: ServerId): void {
  if (term > core.term) core.setHardState(term, NO_SERVER);
  if (core.role === 'leader') leaveLeadership(core);
  core.role = 'follower';
  core.quorumLost = false;
  core.leader = leader;
  core.votes.clear();
  if (leader !== NO_SERVER) core.quickRounds = 0;
  core.resetElectionTimer();
}

export function becomePreCandidate(core: CoreState): void {
  invariant(core.role !== 'leader', 'a-leader-does-not-stand');
  core.role = 'pre-candidate';
  core.leader = NO_SERVER;
  core.votes.clear();
  core.resetElectionTimer();
}

export function becomeCandidate(core: CoreState): void {
  invariant(core.role !== 'leader', 'a-leader-does-not-stand');
  core.setHardState((core.term + 1) as Term, core.config.id);
  core.role = 'candidate';
  core.leader = NO_SERVER;
  core.votes.clear();
  core.resetElectionTimer();
}

export function becomeLeader(core: CoreState): void {
  invariant(core.role === 'candidate', 'only-a-candidate-becomes-leader');
  invariant(core.hardStatePersisted, 'a-leader-s-own-vote-is-durable');
  core.role = 'leader';
  core.quorumLost = false;
  core.leader = core.config.id;
  core.quickRounds = 0;
  core.heartbeatElapsedMs = core.config.heartbeatMs;
  core.quorumHeardMs = core.countedMs;
  core.leaderSinceMs = core.countedMs;
  core.uncommittedBytes = 0;
  core.retryElapsedMs = 0;
  core.leaderTerm = core.term;
  core.handedOver = undefined;
  const next = nextIndex(core.log.lastIndex);
  core.beginProgress(next);
  // Those that voted for it were heard just now, and of the others nothing is known.
  for (const [peer, progress] of core.progress) if (core.votes.get(peer) === true) progress.heardMs = core.countedMs;
  core.votes.clear();
  core.noopIndex = nextIndex(core.log.lastIndex);
  core.appendEntry({ index: core.noopIndex, term: core.term, type: EntryType.noop, data: NO_DATA });
}

function leaveLeadership(core: CoreState): void {
  core.rejectReads('not-leader');
  core.endChanges();
  leaveTransfer(core);
  core.noopIndex = logIndex(0);
}
