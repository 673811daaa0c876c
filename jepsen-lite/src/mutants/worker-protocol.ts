/**
 * What the runner and the process that makes the attempts say to each other: one request as an argument, then reports as lines of
 * JSON on a pipe of their own, since programs under test may print.
 */

import type { Failure } from './attempt.ts';
import type { DetectorName, ShownBy } from './mutant.ts';
import type { EditsByUrl } from '../patches/product.ts';

/** The file descriptor of the worker's reports. */
export const REPORT_FD = 3;

export interface WorkerRequest {
  readonly detector: DetectorName;
  /** Undefined: the product as it is. */
  readonly edits: EditsByUrl | undefined;
  /** What the mutant has to be shown by, where that is not left open. */
  readonly shownBy?: ShownBy;
  /** Where an attempt is many runs: no more than so many. @default all that the detector makes */
  readonly runs?: number;
  /** One attempt each, in this order, until one finds a broken promise. */
  readonly seeds: readonly number[];
}

export type WorkerReport =
  | { readonly type: 'begin'; readonly seed: number }
  | {
      readonly type: 'attempt';
      readonly seed: number;
      readonly failure: Failure | undefined;
      readonly simulatedMs: number;
      readonly wallMs: number;
    }
  /** The mutant cannot be judged at all. */
  | { readonly type: 'broken'; readonly message: string }
  | { readonly type: 'end' };
