/** Planted bugs of whom servers hear: who proves nothing, who has taken the port of a member, and what one speaker alone says. */

import type { Mutant } from '../../mutant.ts';

const RAFT = '@holdfast/raft';

export const strangerMutants: readonly Mutant[] = [
  {
    name: 'one-word-expels',
    breaks: 'news of its own expulsion ends a server when a majority of the voters has said so',
    patches: [
      {
        module: RAFT,
        file: 'peers/expulsion-tally.js',
        edits: [
          {
            find: 'const needed = Math.min(Math.floor(voters.length / 2) + 1, others.length);',
            replace: 'const needed = Math.min(1, others.length);',
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'refusal-believed',
    breaks: 'whoever is at the address of a member may say that this server was removed: that proves nothing',
    patches: [
      {
        module: RAFT,
        file: 'driver/membership-follower.js',
        edits: [
          {
            find: 'this.refusalsHeard += 1;',
            replace: "this.refusalsHeard += 1; if (reason.startsWith('MEMBER_REMOVED')) this.#end(reason);",
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'no-proof-asked',
    breaks: 'nobody is heard who does not prove that it belongs to the ensemble',
    patches: [
      {
        module: RAFT,
        file: 'peers/peer-admission.js',
        edits: [
          { find: 'if (candidate.proves(known))', replace: 'if (known)' },
          { find: 'if (!knowsUs)', replace: 'if (from === 0 && !knowsUs)' },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'first-directory-believed',
    breaks: 'of a member that nobody has met only who is at its address counts',
    patches: [
      {
        module: RAFT,
        file: 'peers/peer-admission.js',
        edits: [
          {
            find: 'if (confirmed === undefined)',
            replace:
              "if (true) return { type: 'admitted', standing: 'member', incarnation }; if (confirmed === undefined)",
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'expulsion-heard-from-anywhere',
    breaks: 'a member that nobody has met brings news of an expulsion only with what was said at its address',
    patches: [
      {
        module: RAFT,
        file: 'peers/peer-admission.js',
        edits: [
          {
            find: "if (purpose === 'expulsion' && context.echoes(from, echo))",
            replace: "if (purpose === 'expulsion')",
          },
        ],
      },
    ],
    caughtBy: ['simulation'],
  },
];
