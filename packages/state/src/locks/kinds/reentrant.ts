/**
 * Mutual exclusion of owners: one owner holds it, and may enter it again without waiting. Its token stays; it is free when the owner has
 * left it as often as it has entered.
 */

import { lockKind, type LockKind } from './lock-kind.ts';

export const reentrant: LockKind = lockKind('reentrant', {
  since: 4,
  mayJoin: ({ size }) => size === 0,
  clash: (inUse, { limit }) =>
    inUse.limit === limit
      ? undefined
      : `with a limit of ${inUse.limit} entries, and this asks for one with ${limit}: use one limit for a lock`,
  maxEntries: (held, { owner, limit }) => (held.owner === owner ? limit : 0),
});
