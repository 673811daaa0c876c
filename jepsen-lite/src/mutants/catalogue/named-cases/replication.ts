/** Of what followers take from a leader's log, and what a leader makes of their answers. */

import type { CaseMutant } from './case-mutant.ts';

export const replicationCases: readonly CaseMutant[] = [
  {
    name: 'overtaken-refusal-heard',
    breaks: 'a refusal that was overtaken by an acknowledgement is ignored',
    file: 'core/replication/follower-answers.js',
    edits: [{ find: 'const stale = message.refusedIndex <= progress.match ||', replace: 'const stale =' }],
  },
  {
    name: 'acknowledgement-of-the-whole-log',
    breaks: 'a follower acknowledges what its leader has shown to agree',
    file: 'core/replication/append.js',
    edits: [{ find: 'index: maxIndex(earlier, verified)', replace: 'index: core.log.lastIndex' }],
  },
  {
    name: 'refusal-of-the-own-end',
    breaks: 'a refusal names the index that it refuses',
    file: 'core/replication/append.js',
    edits: [
      { find: 'refuse(core, from, message.prevIndex, hint,', replace: 'refuse(core, from, core.log.lastIndex, hint,' },
    ],
  },
  {
    name: 'deposed-leader-refused-an-index',
    breaks: 'what teaches a deposed leader the term refuses no index',
    file: 'core/replication/append.js',
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
    file: 'core/replication/append.js',
    edits: [{ find: 'if (message.prevIndex < base.index) {', replace: 'if (message.prevIndex < 0) {' }],
  },
  {
    name: 'deposed-leader-cuts-its-tail',
    breaks: 'a leader that steps down keeps its log: others may count on it',
    file: 'core/roles/transitions.js',
    edits: [
      {
        find: 'stepDown(core, core.role); const follower',
        replace:
          '{ stepDown(core, core.role); if (core.log.lastIndex > core.commit) core.truncateFrom(nextIndex(core.commit)); } const follower',
      },
    ],
  },
  {
    name: 'lost-probe-not-repeated',
    breaks: 'a probe that is not answered is repeated',
    file: 'core/replication/replication.js',
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
    file: 'core/log/term-runs.js',
    edits: [
      {
        find: 'if (run.term <= limit) return candidate; candidate = previousIndex(run.firstIndex);',
        replace: 'return run.term <= limit ? candidate : previousIndex(candidate);',
      },
    ],
  },
  {
    name: 'term-of-the-base-unknown',
    breaks: 'a log knows the term of what comes before its first entry',
    file: 'core/log/term-runs.js',
    edits: [
      {
        find: 'if (index < this.#base.index || index > this.#lastIndex)',
        replace: 'if ((index <= this.#base.index && index > 0) || index > this.#lastIndex)',
      },
    ],
  },
  {
    name: 'refused-index-looked-up-before-the-base',
    breaks: 'a hint before the log begins is no place in it',
    file: 'core/replication/follower-answers.js',
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
    name: 'peer-of-another-cluster-heard',
    breaks: 'a server hears nobody of another cluster',
    file: 'peers/peer-listener.js',
    edits: [{ find: 'if (hello.clusterId !== this.#own.clusterId)', replace: "if (hello.clusterId === '')" }],
  },
];
