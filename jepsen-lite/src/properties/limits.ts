/** Bounds of the machines under test: small ones, so that random commands meet them. */

import { STATE_LIMITS, type StateLimits } from '@holdfast/state';

export const LIMITS: StateLimits = {
  ...STATE_LIMITS,
  maxSessions: 5,
  maxAcquiresPerSession: 6,
  maxNodes: 29,
  // Some two dozen requests for shared locks take as much again as the data of nodes, and so do two requests to release.
  maxTreeDataBytes: 150,
  maxNodesPerEnd: 1,
  maxLockDelays: 5,
  // About two dozen small answers of one session, fewer when others keep some, too.
  leastReplyBytesPerSession: 300,
  maxReplyBytesPerSession: 6_000,
  maxReplyBytes: 64_000,
};
