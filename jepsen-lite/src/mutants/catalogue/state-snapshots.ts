/** Planted bugs of the state machine's snapshots: how they are taken while entries are applied, and restored. */

import type { Mutant } from '../mutant.ts';

const STATE = '@holdfast/state';

export const stateSnapshotMutants: readonly Mutant[] = [
  {
    name: 'snapshot-without-pre-images',
    breaks: 'a snapshot is of exactly one index, whatever is applied while it is taken',
    patches: [
      {
        module: STATE,
        file: 'snapshot/capture.js',
        edits: [
          { find: 'if (this.#capturing !== undefined) this.#capturing.nodeChanging(node);', replace: '' },
          { find: 'if (this.#capturing !== undefined) this.#capturing.sessionChanging(session);', replace: '' },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'snapshot-misses-a-grant-that-comes-later',
    breaks: 'a snapshot is of exactly one index, for queues as for nodes',
    patches: [
      {
        module: STATE,
        file: 'locks/lock-table.js',
        edits: [
          {
            find: 'this.#nodes.changing(acquire.node); lock.waiters.remove(acquire); acquire.token = index;',
            replace: 'lock.waiters.remove(acquire); acquire.token = index;',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'snapshot-without-the-answers',
    breaks: 'what a session was answered is remembered by those who were restored from a snapshot',
    patches: [
      {
        module: STATE,
        file: 'snapshot/session-record.js',
        edits: [{ find: 'const answers = cache.answers().map(packed);', replace: 'const answers = [];' }],
      },
    ],
    caughtBy: ['properties'],
    sample: true,
  },
  {
    name: 'snapshot-without-the-state-version',
    breaks: 'a restored server applies entries by the same rules as the others',
    patches: [
      {
        module: STATE,
        file: 'snapshot/state-restore.js',
        edits: [{ find: 'this.#state.raise(header.version);', replace: '' }],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'restored-queues-in-the-order-of-their-records',
    breaks: 'a restored queue has the order in which the lock was asked for',
    patches: [
      {
        module: STATE,
        file: 'snapshot/state-restore.js',
        edits: [
          {
            find: 'this.#queueNodes.sort((left, right) => nodes.czxid(left.slot) - nodes.czxid(right.slot));',
            replace: 'this.#queueNodes;',
          },
          { find: 'wellFormed(fits, () => `has two acquires ${acquireIndex}`);', replace: '' },
        ],
      },
      {
        module: STATE,
        file: 'locks/acquire-list.js',
        edits: [
          {
            find: "invariant(last === undefined || last.acquireIndex < acquire.acquireIndex, 'a queue is in order of acquire indexes');",
            replace: '',
          },
        ],
      },
    ],
    caughtBy: ['properties'],
  },
  {
    name: 'restored-clock-begins-anew',
    breaks: 'times of nodes never go back, on those who were restored as on the others',
    patches: [
      {
        module: STATE,
        file: 'snapshot/state-restore.js',
        edits: [{ find: 'this.#state.stamp = header.stamp;', replace: '' }],
      },
    ],
    caughtBy: ['properties'],
  },
];
