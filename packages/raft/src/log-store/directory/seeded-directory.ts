/**
 * A data directory that begins with a state instead of an empty log: a snapshot, and a log without entries behind it. All servers of the
 * cluster must begin with the same one, or with none of their own and as members that are added later: a majority of empty logs would
 * elect a leader that knows nothing of it.
 */

import { NO_SERVER, type SnapshotPosition } from '../../core/index.ts';
import { makeDataDirectory, type DataDirectoryOptions, type DataDirectoryWorld } from './data-directory.ts';
import type { Identity } from './identity.ts';
import { openWriteAheadLog, type WriteAheadLogOptions } from '../wal/write-ahead-log.ts';

export interface Seed {
  readonly position: SnapshotPosition;
  /** The machine's, in order. */
  bytes(): Iterable<Uint8Array>;
}

/**
 * `path` must be empty, or not exist. **Durable** on resolve; before that no server starts on it.
 * @throws DataDirectoryInUseError, DataDirectoryError, DiskError
 */
export function createSeededDirectory(
  options: DataDirectoryOptions,
  seed: Seed,
  world: DataDirectoryWorld,
): Promise<Identity> {
  return makeDataDirectory(options, world, (log) => plant(log, seed, world));
}

async function plant(options: WriteAheadLogOptions, seed: Seed, world: DataDirectoryWorld): Promise<void> {
  const store = await openWriteAheadLog(options, world);
  try {
    const sink = await store.createSnapshot({ ...seed.position, origin: 'received' });
    try {
      for (const bytes of seed.bytes()) await sink.write(bytes);
      await sink.finish();
    } catch (error) {
      await sink.abort().catch(() => {});
      throw error;
    }
    const { index, term } = seed.position;
    await store.write({ hardState: { term, votedFor: NO_SERVER }, snapshot: { index, term }, entries: [] });
  } finally {
    await store.close();
  }
}
