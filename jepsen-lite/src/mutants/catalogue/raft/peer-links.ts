/** Planted bugs of the connections between servers. */

import type { Mutant } from '../../mutant.ts';

const RAFT = '@holdfast/raft';

export const peerLinkMutants: readonly Mutant[] = [
  {
    name: 'silent-peer-kept',
    breaks: 'a connection on which nothing was heard for two election timeouts is closed and dialled again',
    patches: [
      {
        module: RAFT,
        file: 'peers/link-watch.js',
        edits: [{ find: 'if (this.#silent >= this.#silentLooks)', replace: 'if (this.#silent < 0)' }],
      },
    ],
    caughtBy: ['simulation'],
  },
  {
    name: 'quiet-peer-not-heard',
    breaks: 'a server lets itself be heard when it has nothing to say',
    patches: [
      {
        module: RAFT,
        file: 'peers/link-watch.js',
        edits: [{ find: 'if (this.#quiet >= QUIET_LOOKS)', replace: 'if (this.#quiet < 0)' }],
      },
    ],
    caughtBy: ['simulation'],
  },
];
