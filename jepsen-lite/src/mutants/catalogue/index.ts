/** All planted bugs. */

import type { Mutant } from '../mutant.ts';
import { clientMutants } from './client.ts';
import { consensusMutants } from './consensus.ts';
import { fencedKvMutants } from './fenced-kv.ts';
import { handOverMutants } from './hand-over.ts';
import { leadershipMutants } from './leadership.ts';
import { leaseMutants } from './leases.ts';
import { logStoreMutants } from './log-store.ts';
import { membershipMutants } from './membership.ts';
import { namedCaseMutants } from './named-cases.ts';
import { peerLinkMutants } from './peer-links.ts';
import { recoveryMutants } from './recovery.ts';
import { serverMutants } from './server.ts';
import { snapshotMutants } from './snapshots.ts';
import { stateMutants } from './state.ts';
import { strangerMutants } from './strangers.ts';
import { unitTestMutants } from './unit-tests.ts';

export const MUTANTS: readonly Mutant[] = [
  ...consensusMutants,
  ...handOverMutants,
  ...leadershipMutants,
  ...membershipMutants,
  ...strangerMutants,
  ...peerLinkMutants,
  ...logStoreMutants,
  ...recoveryMutants,
  ...snapshotMutants,
  ...stateMutants,
  ...serverMutants,
  ...leaseMutants,
  ...clientMutants,
  ...fencedKvMutants,
];

/** Those that only the test of a named case is asked to notice. */
export const NAMED_CASE_MUTANTS = namedCaseMutants;

/** Those that only the test of a unit is asked to notice. */
export const UNIT_TEST_MUTANTS = unitTestMutants;
