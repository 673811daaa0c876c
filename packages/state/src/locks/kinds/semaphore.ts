/** Permits, of which each holder has some, and all together no more than there are. */

import { lockKind, type LockKind } from './lock-kind.ts';

export const semaphore: LockKind = lockKind('semaphore', {
  since: 4,
  isShared: () => true,
  weight: ({ permits }) => permits,
  mayJoin: (holders, { permits, limit }) => holders.weight + permits <= limit,
  problem: ({ permits, limit }) =>
    permits > limit ? `it asks for ${permits} permits of a semaphore that has ${limit}` : undefined,
  disagreement: (present, { limit }) =>
    limit === present.limit
      ? undefined
      : `is in use as a semaphore of ${present.limit} permits, not ${limit}; name the same number everywhere`,
});
