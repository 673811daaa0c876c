/**
 * An operator's command on the data directory of a stopped server: lets lower tokens pass again, for an ensemble that was
 * set up anew and counts from the start. Not on HTTP, where a superseded holder could reach it.
 */

import { DiskError } from '@holdfast/runtime';
import type { Disk, Logger } from '@holdfast/runtime';

import { parseToken } from '../name.ts';
import { RefusedError } from '../refusal.ts';
import { openDataDirectory } from './data-directory.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';

export interface ResetFenceOptions {
  readonly data: string;
  /** Decimal digits; `0`: any token passes. */
  readonly to: string;
}

/** Rejects with {@link ExitError}. */
export async function resetFence(
  bucket: string,
  options: ResetFenceOptions,
  { disk, logger }: { readonly disk: Disk; readonly logger: Logger },
): Promise<{ readonly highest: number; readonly previous: number }> {
  try {
    const to = /^0+$/.test(options.to) ? 0 : parseToken(options.to);
    await assertHasData(options.data, disk);
    const directory = await openDataDirectory(options.data, { disk, logger });
    try {
      return await directory.store.resetFence(bucket, to);
    } finally {
      await directory.close();
    }
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    const code = error.refusal.code === 'BUCKET_NOT_FOUND' ? EXIT_CODE.failure : EXIT_CODE.usage;
    throw new ExitError(code, error.message, { cause: error });
  }
}

async function assertHasData(path: string, disk: Disk): Promise<void> {
  try {
    await disk.list(path);
  } catch (error) {
    if (!(error instanceof DiskError) || error.code !== 'NOT_FOUND') throw error;
    throw new ExitError(EXIT_CODE.usage, `there is no data directory ${path}; correct --data`, { cause: error });
  }
}
