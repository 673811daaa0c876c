/** All planted bugs. */

import type { Mutant } from '../mutant.ts';
import { clientMutants } from './client.ts';
import { consensusMutants } from './consensus.ts';
import { fencedKvMutants } from './fenced-kv.ts';
import { logStoreMutants } from './log-store.ts';
import { serverMutants } from './server.ts';
import { stateMutants } from './state.ts';

export const MUTANTS: readonly Mutant[] = [
  ...consensusMutants,
  ...logStoreMutants,
  ...stateMutants,
  ...serverMutants,
  ...clientMutants,
  ...fencedKvMutants,
];
