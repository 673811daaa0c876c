/** What operators do to a bucket of a stopped server: opens its data directory, and says what is refused as a command does. */

import { DiskError } from '@holdfast/runtime';
import type { Disk, Logger } from '@holdfast/runtime';

import type { FencedStore } from '../fenced-store.ts';
import { RefusedError } from '../refusal.ts';
import { openDataDirectory } from './data-directory.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';

/** Rejects with {@link ExitError}. */
export async function onBucket<T>(
  data: string,
  { disk, logger }: { readonly disk: Disk; readonly logger: Logger },
  work: (store: FencedStore) => Promise<T>,
): Promise<T> {
  try {
    await assertHasData(data, disk);
    const directory = await openDataDirectory(data, { disk, logger });
    try {
      return await work(directory.store);
    } finally {
      await directory.close();
    }
  } catch (error) {
    throw exitErrorOf(error);
  }
}

/** A refusal as a command line says it; anything else as it is. */
export function exitErrorOf(error: unknown): unknown {
  if (!(error instanceof RefusedError)) return error;
  const code = error.refusal.code === 'BUCKET_NOT_FOUND' ? EXIT_CODE.failure : EXIT_CODE.usage;
  return new ExitError(code, error.message, { cause: error });
}

/** Rejects with {@link ExitError}: what is missing must not be made. */
export async function assertHasData(path: string, disk: Disk): Promise<void> {
  try {
    await disk.list(path);
  } catch (error) {
    if (!(error instanceof DiskError) || error.code !== 'NOT_FOUND') throw error;
    throw new ExitError(EXIT_CODE.usage, `there is no data directory ${path}; correct --data`, { cause: error });
  }
}
