/**
 * Which snapshot a start begins with: the newest that is whole, if the log goes on from it. A damaged one is passed over only when
 * the log still reaches back to an older one, or to its own beginning: a state is never put together over a gap.
 */

import type { Disk } from '@holdfast/runtime';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import type { LogIdentity } from '../format/frame.ts';
import type { RecoveredLog } from './recovered-log.ts';
import { listSnapshots, verifySnapshot, type SnapshotCheck, type SnapshotName } from '../snapshots/snapshot-files.ts';
import type { SnapshotInfo } from '../contract/snapshot.ts';

export interface SnapshotChoice {
  readonly chosen: { readonly info: SnapshotInfo; readonly path: string } | undefined;
  /** The log is void: it ends before the snapshot, or differs from it. The snapshot came from a leader whose log it is to follow. */
  readonly restartsLog: boolean;
  /** Newer ones, which are damaged and not needed. */
  readonly damaged: readonly DamagedLogError[];
  /** How much of the chosen one was read: with its ends alone, older ones may still be needed. */
  readonly check: SnapshotCheck;
}

type Log = Pick<RecoveredLog, 'image' | 'segments' | 'voteBan'>;

/**
 * Changes nothing. Reads whole snapshots, unless `check` is for their ends, and these say that the newest one goes with the log.
 * @throws DamagedLogError, DataDirectoryError, IdentityMismatchError, DiskError
 */
export async function chooseSnapshot(
  directory: string,
  log: Log,
  identity: LogIdentity,
  disk: Disk,
  check: SnapshotCheck = 'whole',
): Promise<SnapshotChoice> {
  const names = (await listSnapshots(directory, disk)).toReversed();
  const [newest] = names;
  if (check === 'ends' && newest !== undefined) {
    const info = await verified(newest, identity, disk, [], check);
    const goesWithLog = info !== undefined && log.image.termAt(info.index) === info.term;
    if (goesWithLog) return { chosen: { info, path: newest.path }, restartsLog: false, damaged: [], check };
  }
  const damaged: DamagedLogError[] = [];
  for (const name of names) {
    const info = await verified(name, identity, disk, damaged);
    if (info === undefined) continue;
    const { image } = log;
    if (info.index < image.base.index) break;
    const restartsLog = image.termAt(info.index) !== info.term;
    // A repair may have cut the log before it; the leader sends what comes behind.
    if (restartsLog && info.origin === 'taken' && log.voteBan === undefined) throw lostEnd(name, log);
    return { chosen: { info, path: name.path }, restartsLog, damaged, check: 'whole' };
  }
  const first = log.segments[0];
  if (log.image.base.index > 0 || (first?.number ?? 1) > 1) throw damaged[0] ?? lostBeginning(directory, log);
  return { chosen: undefined, restartsLog: false, damaged, check: 'whole' };
}

async function verified(
  name: SnapshotName,
  identity: LogIdentity,
  disk: Disk,
  damaged: DamagedLogError[],
  check: SnapshotCheck = 'whole',
): Promise<SnapshotInfo | undefined> {
  try {
    return await verifySnapshot(name, identity, disk, check);
  } catch (error) {
    if (!(error instanceof DamagedLogError)) throw error;
    damaged.push(error);
    return undefined;
  }
}

function lostEnd({ index, term, path }: SnapshotName, { image, segments }: Log): DamagedLogError {
  const { lastIndex, lastTerm } = image;
  return new DamagedLogError(
    segments.at(-1)?.file ?? path,
    segments.at(-1)?.usedBytes ?? 0,
    `the log ends at index ${lastIndex} of term ${lastTerm}, and once held entry ${index} of term ${term}, which ${path} was made of`,
  );
}

function lostBeginning(directory: string, { image, segments }: Log): DamagedLogError {
  const first = segments[0];
  const missing = (first?.number ?? 1) - 1;
  return new DamagedLogError(
    first?.file ?? directory,
    0,
    `segment ${missing}, which comes before it, is missing, and no snapshot holds the state up to index ${image.base.index}`,
  );
}
