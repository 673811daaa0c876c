/** All planted bugs. */

import type { Mutant } from '../mutant.ts';
import { clientMutants } from './client.ts';
import { consensusMutants } from './raft/consensus.ts';
import { deadlockMutants, deadlockUnitTestMutants } from './deadlocks.ts';
import { fencedKvMutants, replicationUnitTestMutants } from './fenced-kv.ts';
import { historyMutants } from './histories.ts';
import { transferMutants } from './raft/transfer.ts';
import { leadershipMutants } from './raft/leadership.ts';
import { leaseMutants } from './leases.ts';
import { lockDelayMutants, lockDelayUnitTestMutants } from './lock-delays.ts';
import { logStoreMutants } from './raft/log-store.ts';
import { membershipMutants } from './raft/membership.ts';
import { namedCaseMutants } from './named-cases/index.ts';
import { nodeMutants } from './nodes.ts';
import { peerLinkMutants } from './raft/peer-links.ts';
import { recoveryMutants } from './raft/recovery.ts';
import { serverMutants } from './server.ts';
import { sharedLockMutants, sharedLockUnitTestMutants } from './shared-locks.ts';
import { snapshotMutants } from './raft/snapshots.ts';
import { stateSnapshotMutants } from './state-snapshots.ts';
import { stateMutants } from './state.ts';
import { strangerMutants } from './raft/strangers.ts';
import { unitTestMutants } from './unit-tests.ts';
import { watchMutants, watchUnitTestMutants } from './watches.ts';

export const MUTANTS: readonly Mutant[] = [
  ...consensusMutants,
  ...transferMutants,
  ...leadershipMutants,
  ...membershipMutants,
  ...strangerMutants,
  ...peerLinkMutants,
  ...logStoreMutants,
  ...recoveryMutants,
  ...snapshotMutants,
  ...stateMutants,
  ...stateSnapshotMutants,
  ...sharedLockMutants,
  ...lockDelayMutants,
  ...deadlockMutants,
  ...nodeMutants,
  ...serverMutants,
  ...leaseMutants,
  ...clientMutants,
  ...watchMutants,
  ...fencedKvMutants,
  ...historyMutants,
];

/** Those that only the test of a named case is asked to notice. */
export const NAMED_CASE_MUTANTS = namedCaseMutants;

/** Those that only the test of a unit is asked to notice. */
export const UNIT_TEST_MUTANTS = [
  ...unitTestMutants,
  ...watchUnitTestMutants,
  ...sharedLockUnitTestMutants,
  ...lockDelayUnitTestMutants,
  ...deadlockUnitTestMutants,
  ...replicationUnitTestMutants,
];
