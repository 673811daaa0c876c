/**
 * Planted bugs that bring named cases about: bugs that other implementations of Raft have had (docs/named-cases.md). The test that carries the
 * name must notice; `node scripts/named-cases.mjs mutants` plants them into what the tests load.
 */

import type { Edit, Mutant } from '../mutant.ts';

interface PlantedFile {
  /** @default '@holdfast/raft' */
  readonly module?: Mutant['patches'][number]['module'];
  readonly file: string;
  readonly edits: readonly Edit[];
}

interface CaseMutant extends Pick<Mutant, 'name' | 'breaks'>, PlantedFile {
  /** A second file that it changes. */
  readonly also?: PlantedFile;
}

const MUTANTS: readonly CaseMutant[] = [
  {
    name: 'vote-forgotten-at-a-step-down',
    breaks: 'a server votes once in a term, whatever it becomes in it',
    file: 'core/role.js',
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
    file: 'core/election.js',
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
    file: 'core/election.js',
    edits: [
      {
        find: 'export function onPreVote(core, from, message) {',
        replace: 'export function onPreVote(core, from, message) { if (core.role.timer) core.role.timer.elapsedMs = 0;',
      },
    ],
  },
  {
    name: 'refused-pre-vote-without-the-own-term',
    breaks: 'a refused pre-vote tells the higher term',
    file: 'core/election.js',
    edits: [{ find: 'term: granted ? message.term : core.term, askedTerm', replace: 'term: message.term, askedTerm' }],
  },
  {
    name: 'refused-pre-vote-teaches-nothing',
    breaks: 'a refused pre-vote teaches the higher term',
    file: 'core/election.js',
    edits: [{ find: 'if (!message.granted && message.term > core.term) {', replace: 'if (core === undefined) {' }],
  },
  {
    name: 'loyal-against-the-leader-itself',
    breaks: 'a follower owes its leader no loyalty against that leader',
    file: 'core/election.js',
    edits: [{ find: 'core.leader !== from && role.timer.elapsedMs', replace: 'role.timer.elapsedMs' }],
  },
  {
    name: 'loyal-to-a-silent-leader',
    breaks: 'loyalty to a leader that is not heard ends after an election timeout',
    file: 'core/election.js',
    edits: [
      {
        find: 'return core.leader !== NO_SERVER && core.leader !== from && role.timer.elapsedMs < core.config.electionTimeoutMs;',
        replace: 'const leader = core.role.loyalTo ?? core.leader; return leader !== NO_SERVER && leader !== from;',
      },
      {
        find: 'export function startPreVote(core) { const { votes, timer } = becomePreCandidate(core);',
        replace:
          "export function startPreVote(core) { const known = core.leader; const { votes, timer } = becomePreCandidate(core); Object.defineProperty(core.role, 'loyalTo', { value: known });",
      },
    ],
  },
  {
    name: 'late-pre-vote-counted',
    breaks: 'pre-votes count for the round in which they were asked for',
    file: 'core/election.js',
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
    file: 'core/election.js',
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
    file: 'core/log.js',
    edits: [
      {
        find: 'return lastTerm > this.lastTerm || (lastTerm === this.lastTerm && lastIndex >= this.#lastIndex);',
        replace: 'return lastTerm >= this.lastTerm && lastIndex >= this.#lastIndex;',
      },
    ],
  },
  {
    name: 'refusal-adopted-as-a-vote',
    breaks: 'a server votes for whom it was asked, not for whom another answers',
    file: 'core/election.js',
    edits: [
      {
        find: 'export function onVoteResponse(core, from, message) { if (message.term > core.term) {',
        replace:
          'export function onVoteResponse(core, from, message) { if (message.term > core.term) { core.setHardState(message.term, from);',
      },
    ],
  },
  {
    name: 'no-loyalty-to-a-leader-that-is-heard',
    breaks: 'a follower that hears its leader helps nobody to depose it',
    file: 'core/election.js',
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
    file: 'core/election.js',
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
    file: 'core/election.js',
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
    file: 'core/election.js',
    edits: [
      {
        find: 'startQuickRound(core, timer); votes.set(core.config.id, true); for (const peer of core.membership.electorate) {',
        replace:
          'startQuickRound(core, timer); votes.set(core.config.id, true); for (const peer of core.membership.peers) {',
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
    file: 'core/append.js',
    edits: [
      {
        find: "invariant(messageTerm > core.term || core.role.type !== 'leader',",
        replace: 'invariant(messageTerm >= core.term,',
      },
    ],
  },
  {
    name: 'hand-over-to-whoever-is-followed',
    breaks: 'leadership is handed over to voters only',
    file: 'core/transfer.js',
    edits: [{ find: 'if (!isVoter(core, target))', replace: 'if (!leader.progress.has(target))' }],
  },
  {
    name: 'snapshots-for-followers-only',
    breaks: 'whoever is no leader takes a snapshot of what is committed',
    file: 'core/snapshots.js',
    edits: [
      {
        find: 'if (term > core.term) becomeFollower(core, term, from);',
        replace: "if (core.role.type !== 'follower') return; if (term > core.term) becomeFollower(core, term, from);",
      },
    ],
  },
  {
    name: 'overtaken-refusal-heard',
    breaks: 'a refusal that was overtaken by an acknowledgement is ignored',
    file: 'core/replication.js',
    edits: [{ find: 'const stale = message.refusedIndex <= progress.match ||', replace: 'const stale =' }],
  },
  {
    name: 'acknowledgement-of-the-whole-log',
    breaks: 'a follower acknowledges what its leader has shown to agree',
    file: 'core/append.js',
    edits: [{ find: 'index: maxIndex(earlier, verified)', replace: 'index: core.log.lastIndex' }],
  },
  {
    name: 'refusal-of-the-own-end',
    breaks: 'a refusal names the index that it refuses',
    file: 'core/append.js',
    edits: [
      { find: 'refuse(core, from, message.prevIndex, hint,', replace: 'refuse(core, from, core.log.lastIndex, hint,' },
    ],
  },
  {
    name: 'deposed-leader-refused-an-index',
    breaks: 'what teaches a deposed leader the term refuses no index',
    file: 'core/append.js',
    edits: [
      {
        find: 'refuse(core, from, logIndex(0), logIndex(0), 0);',
        replace: 'refuse(core, from, message.prevIndex, logIndex(0), 0);',
      },
    ],
  },
  {
    name: 'compacted-taken-for-a-conflict',
    breaks: 'what a snapshot holds agrees with every later leader',
    file: 'core/append.js',
    edits: [{ find: 'if (message.prevIndex < base.index) {', replace: 'if (message.prevIndex < 0) {' }],
  },
  {
    name: 'banned-server-keeps-its-term',
    breaks: 'a server that has lost what it acknowledged takes a term above it before it says anything',
    file: 'core/vote-ban.js',
    edits: [
      {
        find: 'if (core.voteBan !== undefined && core.term < core.voteBan)',
        replace: 'if (core.voteBan !== undefined && core.term < 0)',
      },
    ],
  },
  {
    name: 'entries-without-their-term',
    breaks: 'the term of an entry is durable with it or before it',
    file: 'log-store/contract/log-image.js',
    edits: [
      {
        find: 'if ((entries.length > 0 || snapshot !== undefined) && entryTerm > currentTerm) {',
        replace: 'if (snapshot !== undefined && entryTerm > currentTerm) {',
      },
    ],
  },
  {
    name: 'late-completion-counts-truncated',
    breaks: 'a write that ends after its entries were cut makes none durable that came in their place',
    file: 'core/write-queue.js',
    edits: [
      {
        find: 'for (const write of this.#outstanding) write.lastIndex = minIndex(write.lastIndex, last);',
        replace: '',
      },
    ],
  },
  {
    name: 'several-writes-under-way',
    breaks: 'one write is under way, and what comes meanwhile is the next one',
    file: 'driver/durable-writer.js',
    edits: [{ find: 'if (this.#writing === undefined && !this.#failed)', replace: 'if (!this.#failed)' }],
  },
  {
    name: 'failed-read-fed-as-nothing',
    breaks: 'a read of the log that fails stops the server',
    file: 'driver/catch-up-feed.js',
    edits: [
      {
        find: '(error) => this.#parts.failed(error));',
        replace:
          "(error) => { void error; this.#handedOver = true; this.#parts.event({ type: 'entries-read', peer: request.peer, term: request.term, entries: [] }); });",
      },
    ],
  },
  {
    name: 'deposed-leader-cuts-its-tail',
    breaks: 'a leader that steps down keeps its log: others may count on it',
    file: 'core/role.js',
    edits: [
      {
        find: 'stepDown(core, core.role); const follower',
        replace:
          '{ stepDown(core, core.role); if (core.log.lastIndex > core.commit) core.truncateFrom(nextIndex(core.commit)); } const follower',
      },
    ],
  },
  {
    name: 'commit-beyond-the-own-log',
    breaks: 'a follower commits at most what it has',
    file: 'core/append.js',
    edits: [
      { find: 'core.advanceCommit(minIndex(commit, core.log.lastIndex));', replace: 'core.advanceCommit(commit);' },
    ],
  },
  {
    name: 'restart-commits-its-log',
    breaks: 'a server commits nothing by itself after a restart',
    file: 'core/core-state.js',
    edits: [{ find: 'this.commit = begin.index; this.applied', replace: 'this.commit = boot.lastIndex; this.applied' }],
  },
  {
    name: 'commit-told-once',
    breaks: 'every heartbeat tells what is committed',
    file: 'core/reads.js',
    edits: [
      {
        find: 'const commit = minIndex(progress.match, core.commit); progress.sentCommit',
        replace:
          'const commit = progress.sentCommit >= minIndex(progress.match, core.commit) ? 0 : minIndex(progress.match, core.commit); progress.sentCommit',
      },
    ],
  },
  {
    name: 'lost-probe-not-repeated',
    breaks: 'a probe that is not answered is repeated',
    file: 'core/replication.js',
    edits: [
      {
        find: "if (progress.mode === 'probe') progress.probing = false; else sendAppendAt",
        replace: "if (progress.mode !== 'probe') sendAppendAt",
      },
    ],
  },
  {
    name: 'refusal-skips-one-entry',
    breaks: 'a refusal skips a whole term',
    file: 'core/log.js',
    edits: [
      {
        find: 'if (mark.term <= limit) return candidate; candidate = previousIndex(mark.firstIndex);',
        replace: 'return mark.term <= limit ? candidate : previousIndex(candidate);',
      },
    ],
  },
  {
    name: 'old-configuration-survives-a-snapshot',
    breaks: 'a snapshot that replaces the log replaces its configurations',
    file: 'core/active-membership.js',
    edits: [
      { find: 'this.configurations.reset(this.#configurationOf(snapshot));', replace: 'void this.configurations;' },
    ],
  },
  {
    name: 'entries-applied-during-an-installation',
    breaks: 'nothing is applied between a log that was replaced and its state',
    file: 'snapshots/replica-snapshots.js',
    edits: [{ find: 'this.#parts.applies.pause();', replace: '' }],
  },
  {
    name: 'older-snapshot-installed',
    breaks: 'a snapshot at or below what is committed changes nothing',
    file: 'core/snapshots.js',
    edits: [
      {
        find: "if (position.index <= core.commit || core.role.type === 'leader') return;",
        replace:
          "if (core.role.type === 'leader') return; if (position.index <= core.commit) { core.effect({ type: 'restore', position }); return; }",
      },
    ],
  },
  {
    name: 'peer-kept-waiting-for-a-snapshot',
    breaks: 'a peer that turns out to have what it needs gets appends again',
    file: 'core/snapshots.js',
    edits: [
      {
        find: "if (progress.mode === 'snapshot') progress.probeFrom(progress.next); return false;",
        replace: "return progress.mode === 'snapshot';",
      },
    ],
  },
  {
    name: 'sent-snapshot-not-followed-up',
    breaks: 'behind a snapshot that was sent the peer is probed',
    file: 'core/snapshots.js',
    edits: [{ find: "progress?.mode !== 'snapshot') return;", replace: "progress?.mode !== 'probe') return;" }],
  },
  {
    name: 'configuration-of-any-snapshot-taken',
    breaks: 'a log that goes on behind a snapshot keeps its own configurations',
    file: 'core/snapshots.js',
    edits: [
      {
        find: "core.effect({ type: 'restore', position: { index, term: lastTerm } }); }",
        replace:
          "core.effect({ type: 'restore', position: { index, term: lastTerm } }); } else core.membership.configurations.reset({ ...core.membership.configurations.asOf(core.commit), index: core.commit });",
      },
    ],
  },
  {
    name: 'snapshot-with-the-latest-configuration',
    breaks: 'a snapshot holds the configuration that was applied last, and none that may still be cut from the log',
    file: 'snapshots/replica-snapshots.js',
    edits: [{ find: 'core.configurationAsOf(index).configuration', replace: 'core.configuration.configuration' }],
  },
  {
    name: 'snapshot-with-an-older-configuration',
    breaks: 'a snapshot holds the configuration that was applied last',
    file: 'snapshots/replica-snapshots.js',
    edits: [
      {
        find: 'encodeConfiguration(core.configurationAsOf(index).configuration)',
        replace: 'encodeConfiguration(core.spokenTo.length > 0 ? core.configurationAsOf(0).configuration : undefined)',
      },
    ],
  },
  {
    name: 'trigger-lost-while-a-snapshot-is-written',
    breaks: 'what is applied while a snapshot is written counts for the next one',
    file: 'snapshots/replica-snapshots.js',
    edits: [
      {
        find: 'outcome = await taker.run();',
        replace: 'outcome = await taker.run(); this.#lastBegunBytes = this.#gauge.bytes;',
      },
    ],
  },
  {
    name: 'term-of-the-base-unknown',
    breaks: 'a log knows the term of what comes before its first entry',
    file: 'core/log.js',
    edits: [
      {
        find: 'if (index < this.#base.index || index > this.#lastIndex)',
        replace: 'if ((index <= this.#base.index && index > 0) || index > this.#lastIndex)',
      },
    ],
  },
  {
    name: 'joint-configuration-of-a-predecessor-left',
    breaks: 'a new leader ends the change that its predecessor began',
    file: 'core/membership.js',
    edits: [
      {
        find: 'if (leader.transfer?.told !== true) {',
        replace: 'if (leader.transfer?.told !== true && leader.changeTicket !== undefined) {',
      },
    ],
  },
  {
    name: 'configurations-of-the-log-not-read',
    breaks: 'a configuration in the log counts after a restart, committed or not',
    file: 'core/core-state.js',
    edits: [
      {
        find: 'if (index > begin.index) this.membership.append',
        replace: 'if (index < begin.index) this.membership.append',
      },
    ],
  },
  {
    name: 'learner-promoted-however-late',
    breaks: 'a learner is promoted when a round of catching up took at most an election timeout',
    file: 'core/membership.js',
    edits: [
      {
        find: 'if (catchUp.elapsedMs <= electionTimeoutMs && catchUp.round <= CATCH_UP_ROUNDS) {',
        replace: 'if (CATCH_UP_ROUNDS > 0) {',
      },
    ],
  },
  {
    name: 'refused-change-not-answered',
    breaks: 'a change that is refused is answered with the reason',
    file: 'core/membership.js',
    edits: [
      {
        find: 'if (refusal !== undefined) { endChange(core, ticket, refusal); return; }',
        replace: 'if (refusal !== undefined) return;',
      },
    ],
  },
  {
    name: 'last-configuration-needs-the-leaver',
    breaks: 'the last configuration is committed by those that are left',
    file: 'core/active-quorums.js',
    edits: [
      {
        find: 'reached = Math.min(reached, quorumValue(sets[at] ?? [], valueOf));',
        replace:
          'reached = Math.min(reached, sets[at].length === 1 ? Infinity : quorumValue(sets[at] ?? [], valueOf));',
      },
    ],
  },
  {
    name: 'progress-lost-at-a-promotion',
    breaks: 'a learner that is promoted goes on where it was',
    file: 'core/core-state.js',
    edits: [
      {
        find: "if (this.role.type === 'leader') this.role.follow(",
        replace:
          "if (this.role.type === 'leader' && this.membership.voterSets.length > 1) this.role.progress = new Map(); if (this.role.type === 'leader') this.role.follow(",
      },
    ],
  },
  {
    name: 'retired-id-used-again',
    breaks: 'an id is used once',
    file: 'core/membership.js',
    edits: [
      {
        find: "if (member !== undefined || configuration.retired.includes(change.id)) return 'id-used';",
        replace: "if (member !== undefined) return 'id-used';",
      },
    ],
  },
  {
    name: 'removed-leader-may-not-stand',
    breaks: 'a leader that is removed may stand while that is not committed',
    file: 'core/active-membership.js',
    edits: [
      {
        find: 'return this.configurations.since(commit).some(',
        replace: 'return this.configurations.since(this.latest.index).some(',
      },
    ],
  },
  {
    name: 'read-confirmed-by-any-answer',
    breaks: 'a read is confirmed by a round that began after it was asked',
    file: 'core/reads.js',
    edits: [
      {
        find: 'if (message.round > progress.round) progress.round = message.round;',
        replace: 'progress.round = core.round;',
      },
    ],
  },
  {
    name: 'reads-dropped-with-the-leadership',
    breaks: 'reads of a leader that is deposed are refused',
    file: 'core/role.js',
    edits: [{ find: 'rejectReads(core, leader);', replace: '' }],
  },
  {
    name: 'reads-refused-during-a-hand-over',
    breaks: 'reads go on while leadership is handed over',
    file: 'core/reads.js',
    edits: [
      {
        find: "if (core.role.type !== 'leader') {",
        replace: "if (core.role.type !== 'leader' || core.role.transfer !== undefined) {",
      },
    ],
  },
  {
    name: 'candidate-gives-up-for-an-old-leader',
    breaks: 'a candidate stands whatever a leader of an older term says',
    file: 'core/append.js',
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
        find: 'else if (diskStalls(core)) leaveToOthers(core, leader);',
        replace: 'else if (core.membership.peers.length === 0) leaveToOthers(core, leader);',
      },
    ],
  },
  {
    name: 'failed-write-forgotten',
    breaks: 'a failed write is final',
    file: 'log-store/wal/segmented-log.js',
    edits: [{ find: 'this.#failure = { error };', replace: '' }],
  },
  {
    name: 'voters-that-go-decide-alone',
    breaks: 'a joint configuration takes a majority of the voters that come, too',
    file: 'core/active-quorums.js',
    edits: [
      {
        find: 'let reached = Infinity; for (let at = 0;',
        replace: 'let reached = Infinity; for (let at = sets.length - 1;',
      },
    ],
  },
  {
    name: 'quorum-by-the-middle-voter',
    breaks: 'an index is committed when a majority has reached it',
    file: 'core/quorum.js',
    edits: [
      {
        find: 'if (value > largest && countReached(voters, valueOf, value) >= quorumSize(voters.length)) largest = value;',
        replace: 'if (value > largest) largest = valueOf(voters[Math.floor(voters.length / 2)]);',
      },
    ],
  },
  {
    name: 'refused-index-looked-up-before-the-base',
    breaks: 'a hint before the log begins is no place in it',
    file: 'core/replication.js',
    edits: [
      {
        find: 'progress.probeFrom(nextIndex(agree));',
        replace:
          "invariant(core.log.termAt(minIndex(message.index, core.log.lastIndex)) !== undefined, 'the-hint-is-in-the-log'); progress.probeFrom(nextIndex(agree));",
      },
      { find: 'const stale = message.refusedIndex <= progress.match ||', replace: 'const stale =' },
    ],
  },
  {
    name: 'compaction-forgotten-for-a-full-window',
    breaks: 'a peer whose entries were compacted away while others are under way to it is sent a snapshot',
    file: 'core/snapshots.js',
    edits: [
      {
        find: 'if (!isBehindLog(core, progress)) {',
        replace: 'if (!isBehindLog(core, progress) || progress.unanswered) {',
      },
    ],
  },
  {
    name: 'interrupted-installation-not-completed',
    breaks: 'a start completes the replacement of the log that a crash cut short',
    file: 'log-store/wal/segmented-log.js',
    edits: [
      {
        find: 'const restartAt = restartsLog ? chosen?.info : undefined;',
        replace: 'const restartAt = restartsLog && chosen === undefined ? chosen?.info : undefined;',
      },
    ],
  },
  {
    name: 'compaction-beyond-the-snapshot',
    breaks: 'the log is forgotten up to what a snapshot holds, and no further',
    file: 'log-store/wal/segmented-log.js',
    edits: [{ find: 'this.#segments.firstNeeded(upTo)', replace: 'this.#segments.firstNeeded(this.#image.lastIndex)' }],
  },
  {
    name: 'skipped-answers-not-asked-for',
    breaks: 'whoever waits for the answer of an entry that a snapshot skipped is told to ask again',
    module: '@holdfast/lockd',
    file: 'port/skipped-entries.js',
    edits: [{ find: "client.resend('NOT_CAUGHT_UP');", replace: '' }],
  },
  {
    name: 'snapshot-dropped-by-any-message',
    breaks: 'a snapshot goes on arriving whatever else is heard of its leader',
    file: 'snapshots/replica-snapshots.js',
    edits: [
      {
        find: 'this.#offered = undefined; this.#taker?.endTurn();',
        replace: 'this.#offered = undefined; this.#receiver.abandon(); this.#taker?.endTurn();',
      },
    ],
    also: {
      file: 'snapshots/snapshot-receiver.js',
      edits: [
        {
          find: 'async stop() { this.#stopped = true;',
          replace: 'abandon() { this.#inOrder(() => this.#discard()); } async stop() { this.#stopped = true;',
        },
      ],
    },
  },
  {
    name: 'outgrown-snapshot-installed',
    breaks: 'a snapshot that the log has outgrown while it was restored is dropped',
    file: 'snapshots/snapshot-receiver.js',
    edits: [{ find: 'if (offer.index > this.#parts.commitIndex()) {', replace: 'if (offer.index > 0) {' }],
  },
  {
    name: 'peer-of-another-cluster-heard',
    breaks: 'a server hears nobody of another cluster',
    file: 'peers/peer-listener.js',
    edits: [{ find: 'if (hello.clusterId !== this.#own.clusterId)', replace: "if (hello.clusterId === '')" }],
  },
  {
    name: 'lease-known-by-its-timer-alone',
    breaks: 'whether a lock is held is computed when it is asked, however late timers are',
    module: '@holdfast/client',
    file: 'locks/held-lock.js',
    edits: [
      {
        find: 'if (this.#lossReason === undefined && this.#keeper.remainingMs() <= 0) this.#keeper.lapsed();',
        replace: '',
      },
    ],
  },
  {
    name: 'lost-requests-not-asked-for',
    breaks: 'clients send again what was lost with the leader',
    module: '@holdfast/lockd',
    file: 'port/session-clients.js',
    edits: [{ find: 'for (const client of this.#all) client.resend(code);', replace: '' }],
  },
  {
    name: 'new-segment-without-its-name',
    breaks: 'a new segment has its name durably before anything is written into it',
    file: 'log-store/segments/segment-preparer.js',
    edits: [{ find: 'await this.#disk.syncDirectory(this.#directory);', replace: '' }],
  },
  {
    name: 'snapshot-synced-before-its-end',
    breaks: 'a snapshot is on the disk to its last byte before it gets its name',
    file: 'log-store/snapshots/snapshot-files.js',
    edits: [
      {
        find: 'await this.#file.write(fileLength(this.#header, info.bytes) - TRAILER_BYTES, encodeTrailer(info, this.#header.seed)); await this.#file.sync();',
        replace:
          'await this.#file.sync(); await this.#file.write(fileLength(this.#header, info.bytes) - TRAILER_BYTES, encodeTrailer(info, this.#header.seed));',
      },
    ],
  },
];

export const namedCaseMutants: readonly Omit<Mutant, 'caughtBy' | 'sample'>[] = MUTANTS.map(
  ({ name, breaks, also, ...first }) => ({
    name,
    breaks,
    patches: [first, ...(also === undefined ? [] : [also])].map(({ module = '@holdfast/raft', file, edits }) => ({
      module,
      file,
      edits,
    })),
  }),
);
