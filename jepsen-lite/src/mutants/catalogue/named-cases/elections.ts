/** Of elections, terms, votes, and who leads. */

import type { CaseMutant } from './case-mutant.ts';

export const electionCases: readonly CaseMutant[] = [
  {
    name: 'vote-forgotten-at-a-step-down',
    breaks: 'a server votes once in a term, whatever it becomes in it',
    file: 'core/roles/transitions.js',
    edits: [
      {
        find: 'stepDown(core, core.role); const follower',
        replace:
          "stepDown(core, core.role); if (core.role.type === 'candidate') core.votedFor = NO_SERVER; const follower",
      },
    ],
  },
  {
    name: 'pre-vote-raises-the-term',
    breaks: 'a pre-vote changes nothing at the server that is asked',
    file: 'core/election/election.js',
    edits: [
      {
        find: 'export function onPreVote(core, from, message) {',
        replace:
          'export function onPreVote(core, from, message) { if (message.term > core.term + 1) core.setHardState(message.term - 1, NO_SERVER); else if (message.term > core.term) core.setHardState(core.term + 1, NO_SERVER);',
      },
      { find: 'const granted = message.term > core.term &&', replace: 'const granted = message.term >= core.term &&' },
    ],
  },
  {
    name: 'pre-vote-refreshes-the-timer',
    breaks: 'a pre-vote changes nothing at the server that is asked',
    file: 'core/election/election.js',
    edits: [
      {
        find: 'export function onPreVote(core, from, message) {',
        replace: 'export function onPreVote(core, from, message) { if (core.role.timer) core.role.timer.elapsedMs = 0;',
      },
    ],
  },
  {
    name: 'refused-pre-vote-without-the-own-term',
    breaks: 'a refused pre-vote carries the higher term',
    file: 'core/election/election.js',
    edits: [{ find: 'term: granted ? message.term : core.term, askedTerm', replace: 'term: message.term, askedTerm' }],
  },
  {
    name: 'refused-pre-vote-teaches-nothing',
    breaks: 'a refused pre-vote teaches the higher term',
    file: 'core/election/election.js',
    edits: [{ find: 'if (!message.granted && message.term > core.term) {', replace: 'if (core === undefined) {' }],
  },
  {
    name: 'sticks-against-the-leader-itself',
    breaks: 'a follower does not stick to its leader against that leader',
    file: 'core/election/election.js',
    edits: [{ find: 'core.leader !== from && role.timer.elapsedMs', replace: 'role.timer.elapsedMs' }],
  },
  {
    name: 'sticks-to-a-silent-leader',
    breaks: 'stickiness to a leader that is not heard ends after an election timeout',
    file: 'core/election/election.js',
    edits: [
      {
        find: 'return core.leader !== NO_SERVER && core.leader !== from && role.timer.elapsedMs < core.config.electionTimeoutMs;',
        replace: 'const leader = core.role.stuckTo ?? core.leader; return leader !== NO_SERVER && leader !== from;',
      },
      {
        find: 'export function startPreVote(core) { const { votes, timer } = becomePreCandidate(core);',
        replace:
          "export function startPreVote(core) { const known = core.role.stuckTo ?? core.leader; const { votes, timer } = becomePreCandidate(core); Object.defineProperty(core.role, 'stuckTo', { value: known });",
      },
    ],
  },
  {
    name: 'late-pre-vote-counted',
    breaks: 'pre-votes count for the round in which they were asked for',
    file: 'core/election/election.js',
    edits: [
      {
        find: "if (core.role.type !== 'pre-candidate' || message.askedTerm !== core.term + 1)",
        replace:
          'if (core.role.votes === undefined) core.role.votes = new Map(); if (message.askedTerm !== core.term + 1)',
      },
      {
        find: "if (role.type === 'pre-candidate' && isElected(core, role.votes) && mayVote(core))",
        replace: 'if (isElected(core, role.votes) && mayVote(core))',
      },
      {
        find: 'core.role.votes.set(from, message.granted); countPreVotes(core);',
        replace:
          'core.role.votes.set(from, message.granted); core.role.votes.set(core.config.id, true); countPreVotes(core);',
      },
    ],
  },
  {
    name: 'only-voter-stands-twice',
    breaks: 'an election takes one term',
    file: 'core/election/election.js',
    edits: [
      {
        find: 'isElected(core, role.votes) && mayVote(core)) startElection(core, false);',
        replace:
          'isElected(core, role.votes) && mayVote(core)) { startElection(core, false); if (core.membership.electorate.length === 0) startElection(core, false); }',
      },
    ],
  },
  {
    name: 'logs-compared-component-by-component',
    breaks: 'of two logs the one with the newer last term is the newer one, however long the other is',
    file: 'core/log/log.js',
    edits: [
      {
        find: 'return lastTerm > this.lastTerm || (lastTerm === this.lastTerm && lastIndex >= this.lastIndex);',
        replace: 'return lastTerm >= this.lastTerm && lastIndex >= this.lastIndex;',
      },
    ],
  },
  {
    name: 'refusal-adopted-as-a-vote',
    breaks: 'a server votes for whom it was asked, not for whom another answers',
    file: 'core/election/election.js',
    edits: [
      {
        find: 'export function onVoteResponse(core, from, message) { if (message.term > core.term) {',
        replace:
          'export function onVoteResponse(core, from, message) { if (message.term > core.term) { core.setHardState(message.term, from);',
      },
    ],
  },
  {
    name: 'no-stickiness-to-a-leader-that-is-heard',
    breaks: 'a follower that hears its leader helps nobody to depose it',
    file: 'core/election/election.js',
    edits: [
      {
        find: 'return core.leader !== NO_SERVER && core.leader !== from &&',
        replace: 'return from > 3 && core.leader !== NO_SERVER && core.leader !== from &&',
      },
    ],
  },
  {
    name: 'stands-without-asking-first',
    breaks: 'a server asks whether it could win before it raises its term',
    file: 'core/election/election.js',
    edits: [
      {
        find: 'export function startPreVote(core) {',
        replace:
          'export function startPreVote(core) { if (core.membership.electorate.length > 0 && core.term > 0) { startElection(core, false); return; }',
      },
    ],
  },
  {
    name: 'learner-votes-for-nobody',
    breaks: 'whoever asks for a vote is answered: the own configuration may be an old one',
    file: 'core/election/election.js',
    edits: [
      {
        find: 'message.term === core.term && free && mayVote(core)',
        replace: 'message.term === core.term && free && core.mayStand && mayVote(core)',
      },
    ],
  },
  {
    name: 'learners-are-asked-for-votes',
    breaks: 'only those are asked whose votes count',
    file: 'core/election/election.js',
    edits: [
      {
        find: 'startFastRound(core, timer); votes.set(core.config.id, true); for (const peer of core.membership.electorate) {',
        replace:
          'startFastRound(core, timer); votes.set(core.config.id, true); for (const peer of core.membership.peers) {',
      },
    ],
  },
  {
    name: 'term-not-restored',
    breaks: 'a server begins with the term that was durable',
    file: 'core/core-state.js',
    edits: [{ find: 'this.term = boot.hardState.term;', replace: 'this.term = this.log.lastTerm;' }],
  },
  {
    name: 'second-leader-of-a-term-heard',
    breaks: 'two leaders of one term stop the server that sees it',
    file: 'core/replication/append.js',
    edits: [
      {
        find: "invariant(messageTerm > core.term || core.role.type !== 'leader',",
        replace: 'invariant(messageTerm >= core.term,',
      },
    ],
  },
  {
    name: 'transfer-to-whoever-is-followed',
    breaks: 'leadership is transferred to voters only',
    file: 'core/transfer/transfer.js',
    edits: [{ find: 'if (!mayLeadNext(core, target))', replace: 'if (!leader.progress.has(target))' }],
  },
  {
    name: 'banned-server-keeps-its-term',
    breaks: 'a server that has lost what it acknowledged takes a term above it before it says anything',
    file: 'core/election/vote-ban.js',
    edits: [
      {
        find: 'if (core.voteBan !== undefined && core.term < core.voteBan)',
        replace: 'if (core.voteBan !== undefined && core.term < 0)',
      },
    ],
  },
  {
    name: 'candidate-gives-up-for-an-old-leader',
    breaks: 'a candidate stands whatever a leader of an older term says',
    file: 'core/replication/append.js',
    edits: [
      {
        find: 'if (messageTerm < core.term) return false;',
        replace:
          "if (messageTerm < core.term) { if (core.role.type === 'candidate') becomeFollower(core, core.term, from); return false; }",
      },
    ],
  },
  {
    name: 'stalled-leader-leads-on',
    breaks: 'a leader whose disk hangs leads no longer',
    file: 'core/raft-core.js',
    edits: [
      {
        find: 'else if (diskStalls(core)) stepDownForStall(core, leader);',
        replace: 'else if (core.membership.peers.length === 0) stepDownForStall(core, leader);',
      },
    ],
  },
];
