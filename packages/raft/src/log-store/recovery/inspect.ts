/** A summary of a log for operators. Reads only, takes no lock, and reports damage instead of throwing it. */

import { DiskError, type Disk } from '@holdfast/runtime';
import type { HardState, LogIndex, Term } from '../../core/index.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import type { ByteRange, SegmentSummary } from './recovered-log.ts';
import { LogRecovery } from './recovery.ts';
import type { LogPlace } from './repair.ts';
import { SEGMENT_SUFFIX } from '../segments/segment-name.ts';
import { chooseSnapshot } from './snapshot-choice.ts';
import type { SnapshotInfo } from '../contract/snapshot.ts';

export interface LogSummary {
  readonly segments: readonly Omit<Readonly<SegmentSummary>, 'cutFrom'>[];
  /** The one that a start would begin with. */
  readonly snapshot: Pick<SnapshotInfo, 'index' | 'term' | 'bytes' | 'origin'> | undefined;
  /** What comes before the first entry; 0 while the log is whole. */
  readonly baseIndex: LogIndex;
  readonly hardState: HardState;
  /** 0 for an empty log. */
  readonly lastIndex: LogIndex;
  readonly lastTerm: Term;
  /** A write that was never acknowledged; the next start cuts it. */
  readonly tornTail: ByteRange | undefined;
  /** The term in which the server began not to vote, having lost acknowledged log; undefined when it votes. */
  readonly voteBan: Term | undefined;
  /** The rest of the summary is then what was understood up to there. */
  readonly damage: LogDamage | undefined;
}

export interface LogDamage {
  readonly file: string;
  readonly offset: number;
  readonly reason: string;
}

interface InspectionWorld {
  readonly disk: Disk;
}

/** A log in use may lose its first segments while they are read; so often it is looked at again then. */
const MAX_LOOKS = 5;

/**
 * Of a log in use it may see a write half done, as a torn tail.
 * @throws DataDirectoryError of a later format, IdentityMismatchError, DiskError
 */
export async function inspectWriteAheadLog(place: LogPlace, world: InspectionWorld): Promise<LogSummary> {
  for (let looks = 1; ; looks += 1) {
    const first = await firstSegmentName(place, world);
    const summary = await lookAt(place, world);
    if (summary.damage === undefined || looks === MAX_LOOKS) return summary;
    if ((await firstSegmentName(place, world)) === first) return summary;
  }
}

async function firstSegmentName({ directory }: LogPlace, { disk }: InspectionWorld): Promise<string | undefined> {
  try {
    return (await disk.list(directory)).find((name) => name.endsWith(SEGMENT_SUFFIX));
  } catch (error) {
    if (error instanceof DiskError && error.code === 'NOT_FOUND') return undefined;
    throw error;
  }
}

async function lookAt(options: LogPlace, { disk }: InspectionWorld): Promise<LogSummary> {
  const recovery = new LogRecovery(options.directory, options, disk);
  let snapshot: LogSummary['snapshot'];
  const look = async (): Promise<LogDamage | undefined> => {
    await recovery.run();
    if (recovery.segments.length === 0) return missingLog(options.directory);
    const { chosen, damaged } = await chooseSnapshot(options.directory, recovery, options, disk);
    if (chosen !== undefined) {
      const { index, term, bytes, origin } = chosen.info;
      snapshot = { index, term, bytes, origin };
    }
    const [first] = damaged;
    return first === undefined ? undefined : { file: first.file, offset: first.offset, reason: first.reason };
  };
  const damage = await look().then(
    (found) => found,
    (error: unknown) => {
      if (error instanceof DiskError && error.code === 'NOT_FOUND') return missingLog(options.directory);
      if (!(error instanceof DamagedLogError)) throw error;
      const { file, offset, reason } = error;
      return { file, offset, reason };
    },
  );
  const { image, segments, tornTail, voteBan } = recovery;
  return {
    segments: segments.map(({ file, number, firstIndex, sizeBytes, usedBytes }) => {
      return { file, number, firstIndex, sizeBytes, usedBytes };
    }),
    snapshot,
    baseIndex: image.base.index,
    hardState: image.hardState,
    lastIndex: image.lastIndex,
    lastTerm: image.lastTerm,
    tornTail,
    voteBan,
    damage,
  };
}

function missingLog(directory: string): LogDamage {
  return { file: directory, offset: 0, reason: 'every segment of the log is missing' };
}
