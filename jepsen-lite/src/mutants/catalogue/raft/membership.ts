/** Planted bugs of changes of the members: who decides meanwhile, when a change may begin, and who belongs no longer. */

import type { Mutant } from '../../mutant.ts';

const RAFT = '@holdfast/raft';

export const membershipMutants: readonly Mutant[] = [
  {
    name: 'new-voters-alone-decide',
    breaks:
      'while a configuration is joint, decisions take a majority of the voters that come and one of those that go',
    patches: [
      {
        module: RAFT,
        file: 'core/membership/configuration.js',
        edits: [
          {
            find: 'return outgoing.length === 0 ? [incoming] : [incoming, outgoing];',
            replace: 'return [incoming];',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'learners-count',
    breaks: 'learners neither vote nor count for a commit',
    patches: [
      {
        module: RAFT,
        file: 'core/membership/configuration.js',
        edits: [
          {
            find: "const incoming = members.filter((member) => member.role === 'voter').map(({ id }) => id);",
            replace:
              "const incoming = members.filter(({ role }) => role === 'voter' || role === 'learner').map(({ id }) => id);",
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'change-begun-before-the-last-is-committed',
    breaks: 'members change one at a time: the next change begins when the configuration of the last is committed',
    patches: [
      {
        module: RAFT,
        file: 'core/membership/membership.js',
        edits: [
          {
            find: 'const underWay = index > core.commit || isJoint(configuration) || leader.changeTicket !== undefined;',
            replace: 'const underWay = isJoint(configuration);',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'change-begun-before-an-entry-of-the-own-term',
    breaks: 'a leader changes the members after it has committed an entry of its own term (the erratum to thesis 4.1)',
    patches: [
      {
        module: RAFT,
        file: 'core/membership/membership.js',
        edits: [{ find: "if (!core.ownTermCommitted(leader)) return 'not-ready';", replace: '' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'removed-leader-goes-on',
    breaks: 'a leader that is removed leads until the configuration without it is committed, and no longer',
    patches: [
      {
        module: RAFT,
        file: 'core/membership/membership.js',
        edits: [{ find: 'leaveEnsemble(core, leader);', replace: 'void core;' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'lost-disk-taken-back',
    breaks: 'a server that comes back on an empty disk under its old id is refused: what it acknowledged is gone',
    patches: [
      {
        module: RAFT,
        file: 'peers/peer-admission.js',
        edits: [{ find: 'if (candidate.proves(known))', replace: 'if (true)' }],
      },
      {
        module: RAFT,
        file: 'peers/greeting.js',
        edits: [{ find: "if (peer.secret !== '')", replace: 'if (false)' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'knowing-guest-not-heard',
    breaks:
      'a server that lags, or waits to be added, lets in members that it does not know: they prove that they know it',
    patches: [
      {
        module: RAFT,
        file: 'peers/peer-admission.js',
        edits: [{ find: 'if (!knowsUs)', replace: 'if (from > 0)' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'removed-server-not-called-back',
    breaks: 'a removed server that comes back is notified by its former peers, on connections that they dial, and ends',
    patches: [
      {
        module: RAFT,
        file: 'peers/expulsion-notices.js',
        edits: [{ find: 'if (this.#stopped || now < due', replace: 'if (now >= 0 || now < due' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'join-secret-not-kept',
    breaks: 'whoever leads can prove the join secret of a server that was added: the configuration holds it',
    patches: [
      {
        module: RAFT,
        file: 'core/membership/membership.js',
        edits: [{ find: "incarnation: '', joinSecret, role", replace: "incarnation: '', joinSecret: '', role" }],
      },
    ],
    caughtBy: ['simulation'],
  },
];
