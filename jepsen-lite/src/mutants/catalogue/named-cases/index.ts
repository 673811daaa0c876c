/**
 * Planted bugs that bring named cases about: bugs that other implementations of Raft have had (docs/named-cases.md). The test that carries the
 * name must notice; `node scripts/named-cases.mjs mutants` plants them into what the tests load.
 */

import type { Mutant } from '../../mutant.ts';
import type { CaseMutant } from './case-mutant.ts';
import { commitAndReadCases } from './commits-and-reads.ts';
import { durabilityCases } from './durability.ts';
import { electionCases } from './elections.ts';
import { membershipCases } from './membership.ts';
import { replicationCases } from './replication.ts';
import { snapshotCases } from './snapshots.ts';

const CASES: readonly CaseMutant[] = [
  ...electionCases,
  ...replicationCases,
  ...commitAndReadCases,
  ...durabilityCases,
  ...snapshotCases,
  ...membershipCases,
];

export const namedCaseMutants: readonly Omit<Mutant, 'caughtBy' | 'sample'>[] = CASES.map(
  ({ name, breaks, also, ...first }) => ({
    name,
    breaks,
    patches: [first, ...(also === undefined ? [] : [also])].map(({ module = '@holdfast/raft', file, edits }) => ({
      module,
      file,
      edits,
    })),
  }),
);
