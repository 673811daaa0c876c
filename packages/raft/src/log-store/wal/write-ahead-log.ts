/**
 * The log store for production: a write-ahead log in segments (docs/formats.md). Creating and opening it: what a start finds is read,
 * repaired or refused, and made durable, before the log goes on as a {@link SegmentedLog}.
 */

import type { Disk, Logger } from '@holdfast/runtime';
import { invariant, maxTerm, nextIndex, type LogIndex, type ServerId } from '../../core/index.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import { DiskFeature, unrecordedFeatures, type DirectoryFeatures } from '../files/disk-features.ts';
import type { LogIdentity } from '../format/frame.ts';
import { isAlone } from '../recovery/last-configuration.ts';
import { LogSegments } from './log-segments.ts';
import type { LogStore } from '../contract/log-store.ts';
import type { ByteRange, RecoveredLog } from '../recovery/recovered-log.ts';
import { LogRecovery, MIN_SEGMENT_BYTES } from '../recovery/recovery.ts';
import { repairLog, type LogPlace } from '../recovery/repair.ts';
import { listSegments } from '../segments/segment-list.ts';
import { SegmentPreparer } from '../segments/segment-preparer.ts';
import { writeTailMarker, type TailMarker } from '../segments/durable-tail-marker.ts';
import { SegmentedLog } from './segmented-log.ts';
import { chooseSnapshot, type SnapshotChoice } from '../recovery/snapshot-choice.ts';
import { SnapshotFiles, type SnapshotCheck } from '../snapshots/snapshot-files.ts';
import { SpareSegment } from '../segments/spare-segment.ts';
import { zeroFile } from '../files/zero-file.ts';

export const DEFAULT_SEGMENT_BYTES = 64 * 1024 * 1024;
const REWRITE_PIECE_BYTES = 1024 * 1024;

export interface WriteAheadLogOptions extends LogIdentity {
  readonly directory: string;
  /**
   * Rounded up to 4 KiB. The first segments are smaller: 4 MiB, then each twice the one before. A batch that is larger gets a segment of
   * its own size. @default 64 MiB
   */
  readonly segmentBytes?: number;
  /** Of the machine's bytes in one checked piece of a snapshot file. @default 256 KiB */
  readonly snapshotChunkBytes?: number;
  /**
   * A log that has lost acknowledged entries is cut where they begin, for a leader to send them again, under a ban on voting, if others
   * vote beside this server: by the newest configuration that is left, and by these founders of the cluster where none is (none when
   * the server joined). Without it such a log is refused. @default none
   */
  readonly repair?: { readonly founders: readonly ServerId[] } | undefined;
  /**
   * With `ends`, the machine's bytes in the newest snapshot are not read: whoever restores them with `bytesOf` gets DamagedSnapshotError
   * where they are not what was written, and then closes the log and opens it anew with `whole`. @default 'whole'
   */
  readonly snapshotCheck?: SnapshotCheck;
  /** Hears of what is used in the log before it is. @default nobody: for a log that no other version of the program will open */
  readonly features?: DirectoryFeatures;
}

export interface WriteAheadLogWorld {
  readonly disk: Disk;
  readonly logger: Logger;
}

/**
 * Opens the log in `directory`; one without segments becomes an empty log. The directory must be this process's alone
 * ({@link openDataDirectory} takes care of that, and of telling a new log from a lost one).
 * @throws DamagedLogError, IdentityMismatchError, DiskError
 */
export async function openWriteAheadLog(options: WriteAheadLogOptions, world: WriteAheadLogWorld): Promise<LogStore> {
  const { directory, features = unrecordedFeatures() } = options;
  const { disk, logger } = world;
  const recovered = await recoverLog({ ...options, features }, world);
  const segmentBytes = roundedSegmentBytes(options.segmentBytes);
  const snapshots = new SnapshotFiles({ ...options, reserveBytes: segmentBytes }, disk);
  const choice = await chooseSnapshot(directory, recovered, options, disk, options.snapshotCheck);
  await recordFeatures(recovered, features);
  await useSnapshot(choice, snapshots, world);
  if (recovered.tornTail !== undefined) await cutTornTail(recovered.tornTail, world);
  await makeFoundDurable(directory, recovered.lastBatch, disk);
  const active = recovered.segments.at(-1);
  invariant(active !== undefined, 'a-log-has-a-segment');
  const mark = await markFound(recovered, options, disk);
  const child = logger.child({ component: 'log-store' });
  const spare = new SpareSegment({ directory, segmentBytes }, { disk, logger: child });
  await spare.find();
  const file = await disk.open(active.file, 'existing');
  const preparer = new SegmentPreparer({ directory, segmentBytes }, { disk, logger: child }, spare);
  const segments = new LogSegments(directory, recovered.segments, file, { preparer, spare }, disk);
  const log = new SegmentedLog(options, recovered, { segments, mark, snapshots, features }, { disk, logger: child });
  await log.complete(choice);
  const { hardState, lastIndex, snapshot } = log.durable;
  logger.info(
    {
      directory,
      segments: recovered.segments.length,
      index: lastIndex,
      term: hardState.term,
      snapshotIndex: snapshot?.index,
    },
    'opened the log',
  );
  return log;
}

/** Removes what stands in the way of it: leftovers of snapshots that were not finished, and damaged ones that are not needed. */
async function useSnapshot(
  { chosen, damaged }: SnapshotChoice,
  snapshots: SnapshotFiles,
  { disk, logger }: WriteAheadLogWorld,
): Promise<void> {
  await snapshots.removeTemporaries();
  for (const error of damaged) {
    logger.error(
      { file: error.file, reason: error.reason, index: chosen?.info.index ?? 0 },
      'removed a damaged snapshot; the log still reaches back to the state before it',
    );
    await disk.remove(error.file);
  }
  if (chosen !== undefined) snapshots.found(chosen.info, chosen.path);
}

/** Makes a log without entries, **durable** on resolve, where there is none. */
export async function createWriteAheadLog(
  { directory, segmentBytes }: Pick<WriteAheadLogOptions, 'directory' | 'segmentBytes'>,
  { disk, logger }: WriteAheadLogWorld,
): Promise<void> {
  await disk.makeDirectory(directory);
  if ((await listSegments(directory, disk)).length > 0) return;
  const preparer = new SegmentPreparer(
    { directory, segmentBytes: roundedSegmentBytes(segmentBytes) },
    { disk, logger },
  );
  try {
    const file = await preparer.take({ number: 1, firstIndex: nextIndex(0 as LogIndex) }, 0);
    await file.close();
  } finally {
    await preparer.close();
  }
}

async function cutTornTail({ file, from, to }: ByteRange, { disk, logger }: WriteAheadLogWorld): Promise<void> {
  logger.info(
    { file, offset: from, bytes: to - from },
    'cut a write that was never acknowledged off the end of the log',
  );
  await zeroFile(file, from, to, disk);
}

/** An identity that was restored from a copy may not say it; one that a crash kept from being written may still say it. */
async function recordFeatures(found: RecoveredLog, features: DirectoryFeatures): Promise<void> {
  await features.demand(found.features);
  if (found.voteBan === undefined) await features.waive(DiskFeature.voteBan);
}

async function recoverLog(
  options: WriteAheadLogOptions & { readonly features: DirectoryFeatures },
  world: WriteAheadLogWorld,
): Promise<LogRecovery> {
  try {
    await createWriteAheadLog(options, world);
    const recovered = new LogRecovery(options.directory, options, world.disk);
    await recovered.run();
    return recovered;
  } catch (error) {
    const { repair, features } = options;
    if (!(error instanceof DamagedLogError) || repair === undefined) throw error;
    if (await isAlone(repair.founders, options, world.disk)) throw error;
    return await repairLog(error, options, { ...world, features }, () => createWriteAheadLog(options, world));
  }
}

/** How far the log has got; what was found counts as acknowledged from here on. */
async function markFound({ mark, segments, image }: LogRecovery, options: LogPlace, disk: Disk): Promise<TailMarker> {
  const last = segments.findLast(({ usedBytes }) => usedBytes > 0);
  const found = {
    segment: last?.number ?? 0,
    position: last?.usedBytes ?? 0,
    term: maxTerm(image.hardState.term, mark?.term ?? image.hardState.term),
  };
  const same = mark?.segment === found.segment && mark.position === found.position && mark.term === found.term;
  if (!same) await writeTailMarker(options.directory, options.incarnation, found, disk);
  return found;
}

/**
 * What was read need not be on disk: a process that was killed, or that stopped at a failed write, leaves its last write in the page
 * cache, where a start finds it and a power failure then loses it, though the server has acknowledged it meanwhile. After a failed
 * write the kernel takes such pages for clean and no sync writes them, so the last batch is written again. Every batch before it was
 * acknowledged by the disk, since one write is in flight at a time; of the names, the last segment's may be new.
 */
async function makeFoundDurable(directory: string, lastBatch: ByteRange | undefined, disk: Disk): Promise<void> {
  await disk.syncDirectory(directory);
  if (lastBatch === undefined) return;
  const { file: path, from, to } = lastBatch;
  const file = await disk.open(path, 'existing');
  try {
    for (let at = from; at < to; at += REWRITE_PIECE_BYTES) {
      await file.append(at, [await file.read(at, Math.min(REWRITE_PIECE_BYTES, to - at))]);
    }
  } finally {
    await file.close();
  }
}

function roundedSegmentBytes(segmentBytes = DEFAULT_SEGMENT_BYTES): number {
  return Math.max(1, Math.ceil(segmentBytes / MIN_SEGMENT_BYTES)) * MIN_SEGMENT_BYTES;
}
