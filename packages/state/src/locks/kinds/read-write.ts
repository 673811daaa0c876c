/** Many who read together, or one who writes. */

import { lockKind, type LockKind } from './lock-kind.ts';

export const readWrite: LockKind = lockKind('readWrite', {
  since: 4,
  isShared: ({ write }) => !write,
  mayJoin: (holders, request) => holders.first === undefined || (!request.write && !holders.first.request.write),
  // There is no way back: two readers who both waited to write would wait for each other for ever.
  downgraded: ({ write }) => (write ? { type: 'readWrite', write: false } : undefined),
});
