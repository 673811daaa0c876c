/** Mutual exclusion: one holder. */

import { FIRST_STATE_VERSION } from '../../state-version.ts';
import { lockKind, type LockKind } from './lock-kind.ts';

export const mutex: LockKind = lockKind('mutex', {
  since: FIRST_STATE_VERSION,
  mayJoin: (holders) => holders.size === 0,
});
