/** Mutual exclusion: one holder. */

import type { LockRule } from './lock-rule.ts';

export const mutex: LockRule = {
  mayHold: (holders) => holders.size === 0,
};
