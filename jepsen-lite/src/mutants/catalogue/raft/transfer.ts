/** Planted bugs of a leader that transfers leadership, and of one that brings on a peer which lags. */

import type { Mutant } from '../../mutant.ts';

const RAFT = '@holdfast/raft';

export const transferMutants: readonly Mutant[] = [
  {
    name: 'target-asked-before-it-has-everything',
    breaks: "the target of a transfer is asked to stand when its log is durable up to the end of its leader's",
    patches: [
      {
        module: RAFT,
        file: 'core/transfer/transfer.js',
        edits: [{ find: 'if (target.match < core.log.lastIndex) return;', replace: '' }],
      },
    ],
    caughtBy: ['churn'],
  },
  {
    name: 'log-grows-during-a-transfer',
    breaks: 'a leader that transfers leadership holds back what is proposed meanwhile',
    patches: [
      {
        module: RAFT,
        file: 'core/transfer/transfer.js',
        edits: [
          {
            find: 'if (transfer === undefined) return false;',
            replace: 'if (transfer === undefined || !transfer.full) return false;',
          },
        ],
      },
    ],
    caughtBy: ['churn'],
  },
  {
    name: 'catch-up-stops-after-a-piece',
    breaks: 'a peer that lags is brought on piece by piece until it has everything',
    patches: [
      {
        module: RAFT,
        file: 'driver/catch-up-reader.js',
        edits: [{ find: 'this.#delivered = this.#busy = false;', replace: 'this.#delivered = false;' }],
      },
    ],
    caughtBy: ['simulation'],
  },
];
