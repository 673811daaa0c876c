/** The parts of the product that random mutants change, and what looks for each of them, the cheapest first. */

import type { DetectorName } from '../mutant.ts';

export interface Area {
  readonly name: string;
  readonly module: `@holdfast/${string}`;
  /** Within the built files of the module: folders and files. */
  readonly files: readonly string[];
  readonly looks: readonly Look[];
}

export type Look =
  | { readonly by: DetectorName; readonly attempts: number }
  /** Paths of fast tests, within the checkout. */
  | { readonly by: 'tests'; readonly paths: readonly string[] };

const SIMULATION = { by: 'simulation', attempts: 40 } as const;
const LOG_TESTS = ['packages/raft/test/log-store', 'packages/raft/test/snapshots', 'packages/raft/test/driver'];

export const AREAS: readonly Area[] = [
  {
    name: 'core',
    module: '@holdfast/raft',
    files: ['core'],
    looks: [{ by: 'churn', attempts: 3 }, { by: 'tests', paths: ['packages/raft/test/core'] }, SIMULATION],
  },
  {
    name: 'driver',
    module: '@holdfast/raft',
    files: ['driver', 'snapshots'],
    looks: [
      { by: 'tests', paths: ['packages/raft/test/driver', 'packages/raft/test/snapshots'] },
      SIMULATION,
      { by: 'tests', paths: ['packages/lockd/test/ensemble'] },
    ],
  },
  {
    name: 'log-store',
    module: '@holdfast/raft',
    files: ['log-store'],
    looks: [{ by: 'tests', paths: LOG_TESTS }, SIMULATION],
  },
  {
    name: 'state',
    module: '@holdfast/state',
    files: ['.'],
    looks: [{ by: 'tests', paths: ['packages/state/test'] }, { by: 'properties', attempts: 1 }, SIMULATION],
  },
  {
    name: 'sessions',
    module: '@holdfast/lockd',
    files: ['sessions'],
    looks: [
      { by: 'tests', paths: ['packages/lockd/test/sessions'] },
      SIMULATION,
      { by: 'tests', paths: ['packages/lockd/test/ensemble', 'packages/client/test'] },
    ],
  },
];
