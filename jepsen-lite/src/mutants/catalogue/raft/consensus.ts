/** Planted bugs of the consensus core. */

import type { Mutant } from '../../mutant.ts';

const RAFT = '@holdfast/raft';

export const consensusMutants: readonly Mutant[] = [
  {
    name: 'vote-not-persisted',
    breaks: 'a vote, and the term that it was given in, are on disk before anybody hears of them',
    patches: [
      {
        module: RAFT,
        file: 'core/write-queue.js',
        edits: [
          {
            find: "return { type: 'persist', seq, hardState, snapshot, truncateFrom, entries };",
            replace: "return { type: 'persist', seq, hardState: undefined, snapshot, truncateFrom, entries };",
          },
        ],
      },
      {
        module: RAFT,
        file: 'core/core-state.js',
        edits: [
          // What the log shows of the term is all that is left after a restart; without this the boot itself would refuse.
          { find: 'this.term = boot.hardState.term;', replace: 'this.term = this.log.lastTerm;' },
        ],
      },
    ],
    caughtBy: ['simulation', 'churn'],
    sample: true,
  },
  {
    name: 'vote-sent-before-durable',
    breaks: 'a vote, and the term that it was given in, are on disk before anybody hears of them',
    patches: [
      {
        module: RAFT,
        file: 'core/write-queue.js',
        edits: [
          {
            find: 'const needed = after > this.#hardStateSeq ? after : this.#hardStateSeq;',
            replace: 'const needed = after;',
          },
        ],
      },
    ],
    caughtBy: ['simulation', 'churn'],
  },
  {
    name: 'acknowledgement-before-durable-write',
    breaks: 'a follower acknowledges an entry when it is on its disk',
    patches: [
      {
        module: RAFT,
        file: 'core/replication/append.js',
        edits: [{ find: '}, core.writes.lastSeq);', replace: '});' }],
      },
    ],
    caughtBy: ['simulation', 'churn'],
    sample: true,
  },
  {
    name: 'leader-counts-itself-before-durable-write',
    breaks: 'the leader counts for the commit of an entry when it is on its own disk',
    patches: [
      {
        module: RAFT,
        file: 'core/replication/commit.js',
        edits: [
          {
            find: 'return own;',
            replace: 'return core.log.lastIndex;',
          },
        ],
      },
    ],
    caughtBy: ['simulation', 'churn'],
  },
  {
    name: 'figure-8',
    breaks:
      'only entries of the own term commit by counting servers; older ones commit with them (figure 8 of the paper)',
    patches: [
      {
        module: RAFT,
        file: 'core/replication/commit.js',
        edits: [
          {
            find: 'if (index <= core.commit || core.log.termAt(index) !== core.term)',
            replace: 'if (index <= core.commit)',
          },
        ],
      },
    ],
    caughtBy: ['churn'],
    sample: true,
  },
  {
    name: 'no-log-comparison-in-elections',
    breaks: 'a server votes only for a log that is at least as new as its own',
    patches: [
      {
        module: RAFT,
        file: 'core/log/log.js',
        edits: [
          {
            find: 'return lastTerm > this.lastTerm || (lastTerm === this.lastTerm && lastIndex >= this.lastIndex);',
            replace: 'return true;',
          },
        ],
      },
    ],
    caughtBy: ['simulation', 'churn'],
  },
  {
    name: 'log-comparison-by-length-alone',
    breaks: 'of two logs the one with the newer last term is the newer one, however long the other is',
    patches: [
      {
        module: RAFT,
        file: 'core/log/log.js',
        edits: [
          {
            find: 'return lastTerm > this.lastTerm || (lastTerm === this.lastTerm && lastIndex >= this.lastIndex);',
            replace: 'return lastIndex >= this.lastIndex;',
          },
        ],
      },
    ],
    caughtBy: ['simulation', 'churn'],
  },
  {
    name: 'quorum-off-by-one',
    breaks: 'elections and commits take a majority',
    patches: [
      {
        module: RAFT,
        file: 'core/quorum/quorum.js',
        edits: [{ find: 'Math.floor(voters / 2) + 1', replace: 'Math.floor(voters / 2)' }],
      },
    ],
    caughtBy: ['simulation', 'churn'],
  },
  {
    name: 'commit-by-one-too-few',
    breaks: 'an entry is committed when a majority has it',
    patches: [
      {
        module: RAFT,
        file: 'core/quorum/quorum.js',
        edits: [{ find: '>= quorumSize(voters.length)', replace: '>= quorumSize(voters.length) - 1' }],
      },
    ],
    caughtBy: ['simulation', 'churn'],
  },
  {
    name: 'two-votes-in-a-term',
    breaks: 'a server votes once in a term',
    patches: [
      {
        module: RAFT,
        file: 'core/election/election.js',
        edits: [
          {
            find: 'const free = core.votedFor === NO_SERVER || core.votedFor === from;',
            replace: "const free = core.role.type !== 'leader';",
          },
        ],
      },
      {
        module: RAFT,
        file: 'core/core-state.js',
        edits: [{ find: 'term > this.term || this.votedFor === NO_SERVER ||', replace: 'term >= this.term ||' }],
      },
    ],
    caughtBy: ['simulation', 'churn'],
  },
  {
    name: 'pre-votes-counted-as-votes',
    breaks: 'a promise to vote is no vote: the term is won by votes given in it',
    patches: [
      {
        module: RAFT,
        file: 'core/roles/transitions.js',
        edits: [
          {
            find: 'core.role = candidate;',
            replace:
              "const counted = core.role.type === 'pre-candidate' ? core.role.votes : []; core.role = candidate; for (const [voter, granted] of counted) candidate.votes.set(voter, granted);",
          },
        ],
      },
    ],
    caughtBy: ['simulation', 'churn'],
  },
  {
    name: 'truncation-on-any-append',
    breaks: 'a follower removes entries only when they conflict with its leader',
    patches: [
      {
        module: RAFT,
        file: 'core/replication/append.js',
        edits: [{ find: 'if (present === entry.term) continue;', replace: '' }],
      },
    ],
    caughtBy: ['simulation', 'churn'],
  },
  {
    name: 'append-without-a-look-at-the-entry-before',
    breaks: 'a follower takes entries only where its log agrees with the leader up to them',
    patches: [
      {
        module: RAFT,
        file: 'core/replication/append.js',
        edits: [
          {
            find: 'if (core.log.termAt(message.prevIndex) !== message.prevTerm) {',
            replace: 'if (message.prevIndex > core.log.lastIndex) {',
          },
        ],
      },
    ],
    caughtBy: ['simulation', 'churn'],
  },
  {
    name: 'commit-beyond-what-was-compared',
    breaks: 'a follower commits only what its leader has shown to be in its own log',
    patches: [
      {
        module: RAFT,
        file: 'core/replication/append.js',
        edits: [
          {
            find: 'core.advanceCommit(minIndex(message.commit, verified));',
            replace: 'core.advanceCommit(minIndex(message.commit, core.log.lastIndex));',
          },
        ],
      },
    ],
    caughtBy: ['churn'],
  },
  {
    name: 'read-without-a-quorum-round',
    breaks: 'a read is answered after a quorum has confirmed the leader',
    patches: [
      {
        module: RAFT,
        file: 'core/reads/reads.js',
        edits: [
          {
            find: 'const confirmed = reachedByQuorums(',
            replace: 'const confirmed = core.round + 0 * reachedByQuorums(',
          },
        ],
      },
    ],
    caughtBy: ['churn'],
  },
  {
    name: 'read-before-an-entry-of-the-own-term',
    breaks: 'a new leader lets nobody read before it has committed an entry of its own term',
    patches: [
      {
        module: RAFT,
        file: 'core/reads/reads.js',
        edits: [{ find: '|| !core.ownTermCommitted(leader)', replace: '' }],
      },
    ],
    caughtBy: ['churn'],
  },
  {
    name: 'any-next-leader-taken-for-the-successor',
    breaks:
      'after a transfer only the server that was asked to stand is taken to have everything, and only in the very next term',
    patches: [
      {
        module: RAFT,
        file: 'core/transfer/transfer.js',
        edits: [
          {
            find: 'if (lastTransfer === undefined || core.term !== lastTransfer.term + 1) return NO_SERVER;',
            replace: 'if (lastTransfer === undefined) return NO_SERVER;',
          },
          {
            find: 'return leader === NO_SERVER || leader === lastTransfer.target ? lastTransfer.target : NO_SERVER;',
            replace: 'return lastTransfer.target;',
          },
        ],
      },
    ],
    caughtBy: ['churn'],
  },
];
