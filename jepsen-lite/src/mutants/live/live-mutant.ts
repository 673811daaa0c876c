/**
 * A planted bug that only real processes, disks or kernels show: it is in what stands between the product and the operating system, which
 * a simulation replaces. The program that has it runs as a process of its own.
 */

import type { Failure } from '../attempt.ts';
import type { Mutant } from '../mutant.ts';
import type { Volumes } from '../../targets/live/disks/volumes.ts';
import type { Planted } from '../../patches/planted.ts';
import type { WholeRunName } from './whole/scenarios.ts';

/**
 * - `durability`: each operation of the disk that promises it, the power failing as soon as it has ended
 * - `disk-errors`: writes and syncs that the kernel refuses, a full disk, and who else may read
 * - `directory-lock`: processes that want one directory, one of them killed or stopped
 * - `wrong-clocks`: a server whose wall clock jumps by a day, with a holder and one that died
 * - `late-holder`: a holder that is stopped for longer than its session lives, and goes on without giving its timers a turn
 * - `fenced-writes`: the fenced store, stale tokens before and after its power failed
 * - `stopping`: a server that is told to stop while clients are connected, one in the middle of a request
 */
export type LiveDetectorName =
  | 'durability'
  | 'disk-errors'
  | 'directory-lock'
  | 'wrong-clocks'
  | 'late-holder'
  | 'fenced-writes'
  | 'stopping';

/** A whole live run shows it: its end names one of these reasons. */
interface ShownByRun {
  readonly run: WholeRunName;
  /** What `why` of a run's result is like. */
  readonly as: readonly RegExp[];
}

/** No whole live run can show it, and why. */
interface HiddenFromRuns {
  readonly hidden: string;
}

export interface LiveMutant extends Omit<Mutant, 'caughtBy' | 'sample'> {
  readonly caughtBy: LiveDetectorName;
  readonly whole: ShownByRun | HiddenFromRuns;
}

export interface LiveAttempt {
  /** What programs under test are started with. */
  readonly planted: Planted;
  readonly volumes: Volumes;
  /** Empty, and deleted afterwards. */
  readonly directory: string;
}

/** Undefined: nothing was found wrong. */
export type LiveDetector = (attempt: LiveAttempt) => Promise<Failure | undefined>;
