/** Bounds of the machines under test: small ones, so that random commands meet them. */

import { STATE_LIMITS, type StateLimits } from '@holdfast/state';

export const LIMITS: StateLimits = {
  ...STATE_LIMITS,
  maxSessions: 5,
  maxAcquiresPerSession: 6,
  maxNodes: 30,
  maxTreeDataBytes: 24,
};
