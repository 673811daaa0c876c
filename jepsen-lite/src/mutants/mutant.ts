/**
 * A planted bug, as data: which promise it breaks, which lines of which built files of the product it changes, and what is expected
 * to notice. The product's sources know nothing of it; the changes are made while a process of its own loads the built files.
 */

import type { CheckerName } from '../checkers/check.ts';
import type { Patch } from '../patches/patch.ts';

/**
 * - `simulation`: whole ensembles with clients and the fenced store under faults, one seed after another
 * - `properties`: random commands against the replicated state machine
 * - `churn`: bare cores of consensus that change their leader all the time
 * - `recovery`: ensembles that lose a majority for good, and are begun anew with what one server has
 */
export type DetectorName = 'simulation' | 'properties' | 'churn' | 'recovery';

export interface ShownBy {
  readonly workload: string;
  /** @default whatever is found */
  readonly checker?: CheckerName;
}

export interface Mutant {
  readonly name: string;
  /** The promise that it breaks. */
  readonly breaks: string;
  readonly patches: readonly Patch[];
  /** Each of them must. */
  readonly caughtBy: readonly DetectorName[];
  /** By `simulation`: all clients do that workload, and nothing counts but what that checker finds. @default what clients usually do, and whatever is found */
  readonly shownBy?: ShownBy;
  /** Caught within seconds: in the sample for every commit. */
  readonly sample?: true;
}
