/** A summary of a log for operators. Reads only, takes no lock, and reports damage instead of throwing it. */

import type { Disk } from '@holdfast/runtime';
import type { HardState, LogIndex, Term } from '../core/index.ts';
import { DamagedLogError } from './damaged-log-error.ts';
import type { LogIdentity } from './frame.ts';
import { LogRecovery, type SegmentSummary, type ByteRange } from './recovery.ts';

export interface LogSummary {
  readonly segments: readonly Readonly<SegmentSummary>[];
  readonly hardState: HardState;
  /** 0 for an empty log. */
  readonly lastIndex: LogIndex;
  readonly lastTerm: Term;
  /** A write that was never acknowledged; the next start cuts it. */
  readonly tornTail: ByteRange | undefined;
  /** The rest of the summary is then what was understood up to there. */
  readonly damage: { readonly file: string; readonly offset: number; readonly reason: string } | undefined;
}

/**
 * Of a log in use it may see a write half done, as a torn tail.
 * @throws IdentityMismatchError, DiskError
 */
export async function inspectWriteAheadLog(
  options: LogIdentity & { readonly directory: string },
  { disk }: { readonly disk: Disk },
): Promise<LogSummary> {
  const recovery = new LogRecovery(options.directory, options, disk);
  const damage = await recovery.run().then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof DamagedLogError)) throw error;
      const { file, offset, reason } = error;
      return { file, offset, reason };
    },
  );
  const { image, segments, tornTail } = recovery;
  return {
    segments,
    hardState: image.hardState,
    lastIndex: image.lastIndex,
    lastTerm: image.lastTerm,
    tornTail,
    damage,
  };
}
