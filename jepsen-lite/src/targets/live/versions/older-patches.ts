/**
 * What makes this build the one before: the only place that says it. Live runs load it so; the end-to-end tests of `lockd` make a copy of
 * the built files with it. With the first release, that build is the one before.
 */

import type { Patch } from '../../../patches/patch.ts';

/** What only the last state version has, and that servers let themselves be heard. */
export const OLDER_PATCHES: readonly Patch[] = [
  {
    module: '@holdfast/state',
    file: 'state-version.js',
    edits: [{ find: 'LATEST_STATE_VERSION = 5;', replace: 'LATEST_STATE_VERSION = 4;' }],
  },
  {
    module: '@holdfast/raft',
    file: 'peers/peer-features.js',
    edits: [
      { find: 'stateVersion5: 2 ** 8,', replace: '' },
      { find: 'keepAlive: 2 ** 5,', replace: '' },
    ],
  },
];
