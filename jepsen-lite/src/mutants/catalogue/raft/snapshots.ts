/** Planted bugs of Raft's snapshots: what may be forgotten, and which entry a snapshot ends with. */

import type { Mutant } from '../../mutant.ts';

const RAFT = '@holdfast/raft';

export const snapshotMutants: readonly Mutant[] = [
  {
    name: 'log-forgotten-without-a-durable-snapshot',
    breaks: 'the log forgets only what a durable snapshot holds',
    patches: [
      {
        module: RAFT,
        file: 'snapshots/snapshot-taker.js',
        edits: [{ find: 'await sink.finish();', replace: '' }],
      },
      {
        module: RAFT,
        file: 'log-store/wal/segmented-log.js',
        edits: [
          {
            find: "invariant(upTo <= snapshotIndex, 'only-what-a-snapshot-holds-is-forgotten', () => `${upTo} of ${snapshotIndex}`);",
            replace: '',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'snapshot-one-entry-off',
    breaks: 'a snapshot is named by the last entry that its state has applied',
    patches: [
      {
        module: RAFT,
        file: 'snapshots/replica-snapshots.js',
        edits: [{ find: 'const index = applies.applied;', replace: 'const index = applies.applied - 1;' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'log-replaced-before-the-machine-took-the-snapshot',
    breaks: 'the log lets go of what it has only for a snapshot whose state the machine has built',
    patches: [
      {
        module: RAFT,
        file: 'snapshots/snapshot-receiver.js',
        edits: [
          {
            find: 'const state = await this.#restore(whole);',
            replace: 'await (await sink.seal()).close(); const state = { adopt: () => {} };',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'snapshot-installed-beside-a-conflicting-log',
    breaks: 'a received snapshot voids a log that has another entry in the place of its last one',
    patches: [
      {
        module: RAFT,
        file: 'core/log/snapshots.js',
        edits: [{ find: 'if (core.log.termAt(index) !== lastTerm) {', replace: 'if (core.log.lastIndex < index) {' }],
      },
    ],
    caughtBy: ['churn'],
    sample: true,
  },
];
