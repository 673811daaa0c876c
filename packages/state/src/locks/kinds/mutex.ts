/** Mutual exclusion: one holder. */

import { LockKind as LockKindNumber } from '@holdfast/protocol';

import { FIRST_STATE_VERSION } from '../../state-version.ts';
import type { LockKind } from './lock-kind.ts';

export const mutex: LockKind = {
  name: 'mutex',
  number: LockKindNumber.mutex,
  since: FIRST_STATE_VERSION,
  mayJoin: (holders) => holders.size === 0,
};
