/** Errors of the operating system as {@link DiskError}s: the code to act on, the path, and what the system said. */

import { DiskError } from '../../disk.ts';
import type { DiskErrorCode } from '../../disk.ts';

const CODE_OF_ERRNO: ReadonlyMap<string, DiskErrorCode> = new Map([
  ['ENOSPC', 'NO_SPACE'],
  ['EDQUOT', 'NO_SPACE'],
  ['EFBIG', 'NO_SPACE'],
  ['ENOENT', 'NOT_FOUND'],
  ['EEXIST', 'EXISTS'],
  ['EROFS', 'READ_ONLY'],
  ['EACCES', 'PERMISSION'],
  ['EPERM', 'PERMISSION'],
  ['EMFILE', 'NO_DESCRIPTORS'],
  ['ENFILE', 'NO_DESCRIPTORS'],
]);

const NO_DESCRIPTORS_ADVICE = '; raise the limit of open files (ulimit -n, LimitNOFILE)';

/** Runs `work`; `action` completes "cannot … <path>". */
export async function diskOperation<T>(action: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw diskError(action, path, error);
  }
}

export function diskError(action: string, path: string, error: unknown): DiskError {
  if (error instanceof DiskError) return error;
  const errno = errnoOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const code = (errno === undefined ? undefined : CODE_OF_ERRNO.get(errno)) ?? 'IO';
  const advice = code === 'NO_DESCRIPTORS' ? NO_DESCRIPTORS_ADVICE : '';
  return new DiskError(code, path, `cannot ${action} ${path}: ${message}${advice}`, { cause: error });
}

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
