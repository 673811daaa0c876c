/** Of what is committed, read and answered. */

import type { CaseMutant } from './case-mutant.ts';

export const commitAndReadCases: readonly CaseMutant[] = [
  {
    name: 'commit-beyond-the-own-log',
    breaks: 'a follower commits at most what it has',
    file: 'core/replication/append.js',
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
    name: 'commit-sent-once',
    breaks: 'every heartbeat carries what is committed',
    file: 'core/reads/reads.js',
    edits: [
      {
        find: 'const commit = minIndex(progress.match, core.commit); progress.sentCommit',
        replace:
          'const commit = progress.sentCommit >= minIndex(progress.match, core.commit) ? 0 : minIndex(progress.match, core.commit); progress.sentCommit',
      },
    ],
  },
  {
    name: 'read-confirmed-by-any-answer',
    breaks: 'a read is confirmed by a round that began after it was asked',
    file: 'core/reads/reads.js',
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
    file: 'core/roles/transitions.js',
    edits: [{ find: 'rejectReads(core, leader);', replace: '' }],
  },
  {
    name: 'reads-refused-during-a-transfer',
    breaks: 'reads go on while leadership is transferred',
    file: 'core/reads/reads.js',
    edits: [
      {
        find: "if (core.role.type !== 'leader') {",
        replace: "if (core.role.type !== 'leader' || core.role.transfer !== undefined) {",
      },
    ],
  },
  {
    name: 'quorum-by-the-middle-voter',
    breaks: 'an index is committed when a majority has reached it',
    file: 'core/quorum/quorum.js',
    edits: [
      {
        find: 'if (value > largest && countReached(voters, valueOf, value) >= quorumSize(voters.length)) largest = value;',
        replace: 'if (value > largest) largest = valueOf(voters[Math.floor(voters.length / 2)]);',
      },
    ],
  },
  {
    name: 'skipped-answers-not-asked-for',
    breaks: 'whoever waits for the answer of an entry that a snapshot skipped is asked to send again',
    module: '@holdfast/lockd',
    file: 'port/skipped-entries.js',
    edits: [{ find: "client.resend('NOT_CAUGHT_UP');", replace: '' }],
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
];
