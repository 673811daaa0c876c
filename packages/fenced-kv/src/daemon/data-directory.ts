/** The data directory of one fenced-kvd: locked for this process, opened, and closed in that order's reverse. */

import { DiskError } from '@holdfast/runtime';
import type { DirectoryLock, Disk } from '@holdfast/runtime';

import type { Engine, EngineOptions } from '../engine.ts';
import { EngineError } from '../engine-error.ts';
import { FencedStore } from '../fenced-store.ts';
import { openLmdbEngine } from '../lmdb-engine.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';

export interface DataDirectory {
  readonly store: FencedStore;
  close(): Promise<void>;
}

/** Rejects with {@link ExitError}. */
export async function openDataDirectory(
  path: string,
  options: EngineOptions & { readonly disk: Disk },
): Promise<DataDirectory> {
  const { disk } = options;
  let lock: DirectoryLock | undefined;
  let engine: Engine | undefined;
  try {
    await disk.makeDirectory(path);
    lock = await disk.lockDirectory(path);
    engine = await openLmdbEngine(path, options);
    const store = await FencedStore.open(engine);
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
