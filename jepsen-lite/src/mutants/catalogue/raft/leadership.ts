/** Planted bugs of what must happen to a leader, and of what it must not wait for. */

import type { Mutant } from '../../mutant.ts';

const RAFT = '@holdfast/raft';

export const leadershipMutants: readonly Mutant[] = [
  {
    name: 'reads-put-off-the-look-at-the-disk',
    breaks:
      'a leader whose disk hangs leads no longer, however many rounds of reads and renewals take the place of heartbeats',
    patches: [
      {
        module: RAFT,
        file: 'core/raft-core.js',
        edits: [
          {
            find: 'else if (diskStalls(core)) stepDownForStall(core, leader);',
            replace:
              'else if (diskStalls(core) && leader.heartbeatElapsedMs >= core.config.heartbeatMs) stepDownForStall(core, leader);',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'leader-without-a-quorum-goes-on',
    breaks: 'a leader that has not heard a quorum for an election timeout leads no longer',
    patches: [
      {
        module: RAFT,
        file: 'core/election/quorum-contact.js',
        edits: [{ find: 'if (!quorumIsDue(core, leader)) return true;', replace: 'return true;' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'silent-voter-counts-for-a-removal',
    breaks: 'a voter is removed only when a majority of those that are left is heard',
    patches: [
      {
        module: RAFT,
        file: 'core/membership/membership.js',
        edits: [
          {
            find: 'return voter === core.config.id || progressOf(leader, voter).isAlive(core.countedMs);',
            replace: 'return true;',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'hung-follower-with-clients-relied-upon',
    breaks: 'a commit does not wait for a deferred follower while an eager quorum could make it',
    patches: [
      {
        module: RAFT,
        file: 'core/replication/eager-quorum.js',
        edits: [{ find: 'slowest.overtaken = true;', replace: '' }],
      },
    ],
    caughtBy: ['simulation'],
  },
];
