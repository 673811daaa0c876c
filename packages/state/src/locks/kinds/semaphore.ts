/**
 * So many permits, of which a holder has one or several. The queue is fair: who wants many permits is not passed over by those who want few.
 */

import { lockKind, type LockKind } from './lock-kind.ts';

export const semaphore: LockKind = lockKind('semaphore', {
  since: 4,
  problem: ({ permits, count }) =>
    count <= permits ? undefined : `asks for ${count} permits of a semaphore that has ${permits}: ask for at most that`,
  share: ({ count }) => count,
  mayJoin: ({ taken }, { permits, count }) => taken + count <= permits,
  clash: (inUse, { permits }) =>
    inUse.permits === permits
      ? undefined
      : `with ${inUse.permits} permits, and this asks for one with ${permits}: use one number for a semaphore`,
  conversionProblem: (held, { permits, count }) => {
    if (permits !== held.permits) return `the semaphore has ${held.permits} permits, not ${permits}`;
    return count < held.count
      ? undefined
      : `it has ${held.count} permits and can give some back, not get ${count}: two holders who both want more would wait for each other ` +
          'for ever; acquire the others beside it, or release it and ask for all of them';
  },
});
