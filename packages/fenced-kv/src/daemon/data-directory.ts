/**
 * The data directory of one fenced-kvd: locked for this process, closed to other users, opened, and let go of in that order's
 * reverse.
 */

import { DiskError } from '@holdfast/runtime';
import type { DirectoryLock, Disk, Logger } from '@holdfast/runtime';

import type { Engine, EngineOptions } from '../engines/engine.ts';
import { EngineError } from '../engines/engine-error.ts';
import type { FenceRules } from '../fence.ts';
import { FencedStore } from '../fenced-store.ts';
import { LMDB_FILE_NAME, openLmdbEngine } from '../engines/lmdb-engine.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';

export interface DataDirectory {
  readonly store: FencedStore;
  close(): Promise<void>;
}

/** Rejects with {@link ExitError}. */
export async function openDataDirectory(
  path: string,
  options: EngineOptions & FenceRules & { readonly disk: Disk; readonly logger: Logger },
): Promise<DataDirectory> {
  const { disk } = options;
  let lock: DirectoryLock | undefined;
  let engine: Engine | undefined;
  try {
    await disk.makeDirectory(path);
    lock = await disk.lockDirectory(path);
    await restrictAccess(path, options);
    engine = await openLmdbEngine(path, options);
    const store = await FencedStore.open(engine, options);
    const held = lock;
    return {
      store,
      async close() {
        await store.close();
        await held.release();
      },
    };
  } catch (error) {
    await engine?.close();
    await lock?.release();
    throw toExitError(path, error);
  }
}

/** Anything but an empty directory and a data directory was named by mistake, and stays as it is; what is made in it is closed to others. */
async function restrictAccess(
  path: string,
  { disk, logger }: { readonly disk: Disk; readonly logger: Logger },
): Promise<void> {
  const names = await disk.list(path);
  if (names.length > 0 && !names.includes(LMDB_FILE_NAME)) return;
  const { restricted, open } = await disk.restrictAccess(path);
  if (restricted.length > 0) {
    const fields = { directory: path, count: restricted.length, first: restricted[0] };
    logger.warn(fields, 'other users could get at the data directory, and cannot any more');
  }
  if (open.length > 0) {
    const fields = { directory: path, count: open.length, first: open[0] };
    logger.warn(fields, 'other users can get at files of the data directory, which this process may not change');
  }
}

function toExitError(path: string, error: unknown): unknown {
  if (error instanceof DiskError) {
    return error.code === 'LOCKED'
      ? new ExitError(
          EXIT_CODE.dataDirectoryInUse,
          `data directory ${path} is in use by another process; stop that one or choose another --data`,
          { cause: error },
        )
      : new ExitError(EXIT_CODE.diskError, `data directory ${path}: ${error.message}`, { cause: error });
  }
  if (error instanceof EngineError) {
    const code = error.code === 'DAMAGED_DATA' ? EXIT_CODE.damagedData : EXIT_CODE.diskError;
    return new ExitError(code, error.message, { cause: error });
  }
  return error;
}
