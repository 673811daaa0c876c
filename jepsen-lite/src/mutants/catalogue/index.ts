/** All planted bugs. */

import type { Mutant } from '../mutant.ts';
import { clientMutants } from './client.ts';
import { consensusMutants } from './consensus.ts';
import { fencedKvMutants } from './fenced-kv.ts';
import { logStoreMutants } from './log-store.ts';
import { membershipMutants } from './membership.ts';
import { serverMutants } from './server.ts';
import { snapshotMutants } from './snapshots.ts';
import { stateMutants } from './state.ts';

export const MUTANTS: readonly Mutant[] = [
  ...consensusMutants,
  ...membershipMutants,
  ...logStoreMutants,
  ...snapshotMutants,
  ...stateMutants,
  ...serverMutants,
  ...clientMutants,
  ...fencedKvMutants,
];
