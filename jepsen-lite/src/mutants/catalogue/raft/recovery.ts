/** Planted bugs of what follows a loss: of acknowledged log on one disk, and of a majority of the servers for good. */

import type { Mutant } from '../../mutant.ts';

const RAFT = '@holdfast/raft';

export const recoveryMutants: readonly Mutant[] = [
  {
    name: 'damage-cut-without-a-ban',
    breaks: 'a log is cut where it is damaged only when the ban on voting is durable',
    patches: [
      {
        module: RAFT,
        file: 'log-store/recovery/repair.js',
        edits: [{ find: 'await writeVoteBan(directory, incarnation, ban, disk);', replace: '' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'recovered-state-keeps-its-sessions',
    breaks: 'in a cluster that is begun anew with what one server has, every session has ended',
    patches: [
      {
        module: '@holdfast/state',
        file: 'state-machine.js',
        edits: [{ find: 'endEverySession(this.#state);', replace: '' }],
      },
    ],
    caughtBy: ['recovery'],
    sample: true,
  },
  {
    name: 'recovered-index-goes-on-behind-the-log',
    breaks: 'the tokens of a cluster that is begun anew are above all that the old one gave out, known or not',
    patches: [
      {
        module: '@holdfast/lockd',
        file: 'offline/recover.js',
        edits: [
          {
            find: 'Math.max(Math.max(lastIndex, recovered) + RECOVERY_INDEX_GAP, above)',
            replace: 'Math.max(Math.max(lastIndex, recovered) + 1, above)',
          },
        ],
      },
    ],
    caughtBy: ['recovery'],
    sample: true,
  },
];
