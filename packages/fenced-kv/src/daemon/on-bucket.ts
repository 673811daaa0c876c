/**
 * What operators do to a bucket: in the data directory of a stopped server, which is opened for it, or by the server that has it open. What
 * is refused is said as a command says it.
 */

import { DiskError } from '@holdfast/runtime';
import type { Disk, Logger } from '@holdfast/runtime';

import { AdminClient, NoAdminSocketError, RefusedByServerError } from '../admin/admin-client.ts';
import { AdminError } from '../admin/admin-error.ts';
import type { FencedStore } from '../fenced-store.ts';
import { RefusedError } from '../refusal.ts';
import { openDataDirectory } from './data-directory.ts';
import { EXIT_CODE, ExitError } from './exit-code.ts';

/** What is done where no server runs on the data, and what is asked of one that does. */
interface BucketWork<T> {
  readonly stopped: (store: FencedStore) => Promise<T>;
  readonly running: (server: AdminClient) => Promise<T>;
}

/** Rejects with {@link ExitError}. */
export async function onBucket<T>(
  data: string,
  { disk, logger }: { readonly disk: Disk; readonly logger: Logger },
  { stopped, running }: BucketWork<T>,
): Promise<T> {
  try {
    await assertHasData(data, disk);
    const directory = await openDataDirectory(data, { disk, logger });
    try {
      return await stopped(directory.store);
    } finally {
      await directory.close();
    }
  } catch (error) {
    if (isInUse(error)) return await atServer(data, error, running);
    throw exitErrorOf(error);
  }
}

export function isInUse(error: unknown): error is ExitError {
  return error instanceof ExitError && error.exitCode === EXIT_CODE.dataDirectoryInUse;
}

/** `inUse`: why it is asked, and not the data. Rejects with {@link ExitError}. */
export async function atServer<T>(
  data: string,
  inUse: ExitError,
  work: (server: AdminClient) => Promise<T>,
): Promise<T> {
  try {
    return await work(new AdminClient(data));
  } catch (error) {
    if (error instanceof NoAdminSocketError) {
      throw new ExitError(
        inUse.exitCode,
        `data directory ${data} is in use by another process, and ${error.message}; stop that process`,
        {
          cause: error,
        },
      );
    }
    throw exitErrorOf(error);
  }
}

/** Of the server's answers, what is wrong with the command line. */
const USAGE: readonly string[] = ['INVALID_ARGUMENT', 'LIMIT_EXCEEDED', 'CONFIRMATION_NEEDED'];

/** A refusal as a command line says it; anything else as it is. */
export function exitErrorOf(error: unknown): unknown {
  if (error instanceof RefusedError) {
    const code = error.refusal.code === 'BUCKET_NOT_FOUND' ? EXIT_CODE.failure : EXIT_CODE.usage;
    return new ExitError(code, error.message, { cause: error });
  }
  if (error instanceof RefusedByServerError || error instanceof AdminError) {
    const code = USAGE.includes(error.code) ? EXIT_CODE.usage : EXIT_CODE.failure;
    return new ExitError(code, error.message, { cause: error });
  }
  return error;
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
