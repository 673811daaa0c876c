/**
 * Who belongs to the ensemble as far as a damaged log still tells: its newest configuration that can be read, in the log before the
 * damage or in a snapshot. What was lost may hold a later one; to find nobody else is therefore a reason to refuse, never to repair.
 */

import type { Disk } from '@holdfast/runtime';
import {
  decodeConfiguration,
  MalformedConfigurationError,
  type Configuration,
  type LogIndex,
  type ServerId,
} from '../../core/index.ts';
import { DamagedLogError } from '../errors/damaged-log-error.ts';
import { LogRecovery } from './recovery.ts';
import type { LogPlace } from './repair.ts';
import { listSnapshots, verifySnapshot } from '../snapshots/snapshot-files.ts';

/**
 * Whether nobody votes but this server, so that nobody could send it what it lost. Reads; changes nothing.
 * @throws DataDirectoryError, IdentityMismatchError, DiskError
 */
export async function isAlone(founders: readonly ServerId[], place: LogPlace, disk: Disk): Promise<boolean> {
  const known = await lastConfiguration(place, disk);
  // One that joined knows no founders.
  if (known === undefined) return founders.length === 1;
  return known.members.every(({ id, role, outgoing }) => id === place.serverId || (role !== 'voter' && !outgoing));
}

async function lastConfiguration(place: LogPlace, disk: Disk): Promise<Configuration | undefined> {
  const inLog = await lastInLog(place, disk);
  const inSnapshot = await lastInSnapshots(place, disk);
  const newest = (inSnapshot?.index ?? 0) > (inLog?.index ?? 0) ? inSnapshot : inLog;
  try {
    return newest === undefined ? undefined : decodeConfiguration(newest.data);
  } catch (error) {
    if (error instanceof MalformedConfigurationError) return undefined;
    throw error;
  }
}

interface EncodedConfiguration {
  readonly index: LogIndex;
  readonly data: Uint8Array;
}

async function lastInLog(place: LogPlace, disk: Disk): Promise<EncodedConfiguration | undefined> {
  const recovery = new LogRecovery(place.directory, place, disk);
  await recovery.run().catch((error: unknown) => {
    if (!(error instanceof DamagedLogError)) throw error;
  });
  return recovery.image.durableState(undefined).configurations.at(-1);
}

async function lastInSnapshots(place: LogPlace, disk: Disk): Promise<EncodedConfiguration | undefined> {
  for (const name of (await listSnapshots(place.directory, disk)).toReversed()) {
    try {
      const { index, configuration } = await verifySnapshot(name, place, disk);
      if (configuration.length > 0) return { index, data: configuration };
    } catch (error) {
      if (!(error instanceof DamagedLogError)) throw error;
    }
  }
  return undefined;
}
