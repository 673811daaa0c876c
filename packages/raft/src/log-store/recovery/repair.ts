/**
 * Makes a log that has lost acknowledged entries usable again, as that of a server that may not vote: it is cut where the damage
 * begins, and a leader sends the rest again. Never skips anything: what lies behind damage goes. Every step leaves a directory that the
 * next start repairs again; the ban is durable before the first.
 */

import { join } from 'node:path';
import type { Disk, Logger } from '@holdfast/runtime';
import { maxTerm, nextTerm, type Term } from '../../core/index.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import { DiskFeature, type DirectoryFeatures } from '../files/disk-features.ts';
import type { LogIdentity } from '../format/frame.ts';
import { LogRecovery } from './recovery.ts';
import { readTailMarker, writeTailMarker } from '../segments/durable-tail-marker.ts';
import { parseSegmentFileName, SEGMENT_SUFFIX } from '../segments/segment-name.ts';
import { readVoteBan, writeVoteBan } from './vote-ban.ts';
import { zeroFile } from '../files/zero-file.ts';

/** Of segments that a repair has taken out of the log; kept for whoever wants to look at them. */
const DAMAGED_SUFFIX = '.damaged';

export interface RepairWorld {
  readonly disk: Disk;
  readonly logger: Logger;
  readonly features: DirectoryFeatures;
}

export interface LogPlace extends LogIdentity {
  readonly directory: string;
}

/**
 * The log as it is after the repair. `createSegment` makes the first segment where none is left.
 * @throws DamagedLogError the same one, when nobody could say from which term on this server would be safe, or when files are there
 * that the log did not make
 */
export async function repairLog(
  damage: DamagedLogError,
  place: LogPlace,
  world: RepairWorld,
  createSegment: () => Promise<void>,
): Promise<LogRecovery> {
  const { directory, incarnation } = place;
  const { disk, logger } = world;
  const names = (await disk.list(directory)).filter((name) => name.endsWith(SEGMENT_SUFFIX));
  if (damage.foreign || names.some((name) => parseSegmentFileName(name) === undefined)) throw damage;
  const mark = await readTailMarker(directory, incarnation, disk);
  if (mark === undefined) throw damage;
  const ban = nextTerm(await highestTerm(mark.term, place, disk));
  await world.features.demand(DiskFeature.voteBan);
  await writeVoteBan(directory, incarnation, ban, disk);
  logger.error(
    { file: damage.file, offset: damage.offset, reason: damage.reason, term: ban },
    'acknowledged log is lost: the log is cut there, the leader sends the rest again, and this server does not vote until then',
  );
  // Each round takes out at least a segment, or cuts one that no later round finds damaged.
  for (let round = 0; round <= 2 * names.length + 1; round += 1) {
    await dropBehindGap(directory, world);
    await createSegment();
    const recovery = new LogRecovery(directory, place, disk);
    try {
      await recovery.run();
      return recovery;
    } catch (error) {
      if (!(error instanceof DamagedLogError) || error.foreign) throw error;
      await cutAtDamage(recovery, mark.term, place, world);
    }
  }
  throw damage;
}

/** Of what the mark, an earlier ban and the intact part of the log say. */
async function highestTerm(marked: Term, place: LogPlace, disk: Disk): Promise<Term> {
  const recovery = new LogRecovery(place.directory, place, disk);
  await recovery.run().catch((error: unknown) => {
    if (!(error instanceof DamagedLogError)) throw error;
  });
  const earlier = await readVoteBan(place.directory, place.incarnation, disk);
  return maxTerm(maxTerm(marked, earlier ?? marked), recovery.image.hardState.term);
}

async function cutAtDamage(recovery: LogRecovery, term: Term, place: LogPlace, world: RepairWorld): Promise<void> {
  const { directory, incarnation } = place;
  const { disk } = world;
  const last = recovery.segments.findLast(({ usedBytes }) => usedBytes > 0);
  for (const name of (await disk.list(directory)).toReversed()) {
    const number = parseSegmentFileName(name)?.number;
    if (number !== undefined && number > (last?.number ?? 0)) await setAside(directory, name, world);
  }
  if (last !== undefined) await zeroFile(last.file, last.usedBytes, last.sizeBytes, disk);
  const mark = { segment: last?.number ?? 0, position: last?.usedBytes ?? 0, term };
  await writeTailMarker(directory, incarnation, mark, disk);
}

/** Nothing follows what is missing. */
async function dropBehindGap(directory: string, world: RepairWorld): Promise<void> {
  let expected: number | undefined;
  for (const name of await world.disk.list(directory)) {
    const number = parseSegmentFileName(name)?.number;
    if (number === undefined) continue;
    if (expected === undefined || number === expected) expected = number + 1;
    else await setAside(directory, name, world);
  }
}

async function setAside(directory: string, name: string, { disk, logger }: RepairWorld): Promise<void> {
  const kept = `${name}${DAMAGED_SUFFIX}`;
  await disk.rename(join(directory, name), join(directory, kept));
  await disk.syncDirectory(directory);
  logger.warn(
    { file: join(directory, kept) },
    'took a segment out of the damaged log; remove the file when nobody wants to look at it',
  );
}
