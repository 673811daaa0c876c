/** What the file system says, as errors of a fence. */

import { FenceError } from '@holdfast/fence';
import { codeOf, messageOf } from '@holdfast/fence/adapter';

type Doing = 'read' | 'write' | 'publish';

const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'give the user of this process the right to read and write there',
  EPERM: 'the file system has no hard links, or the user no right: use a local one such as ext4, XFS or APFS',
  ENOTSUP: 'the file system has no hard links: use a local one such as ext4, XFS or APFS',
  EROFS: 'the file system is mounted read-only',
  ENOSPC: 'free space on the disk, and try again',
  EDQUOT: 'free space within the quota, and try again',
  EMFILE: 'this process has too many files open: raise its limit (ulimit -n)',
  ENOTDIR: 'name a directory',
};
/** Whoever tries again later may be served. */
const AGAIN = ['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE'];

export function asFenceError(error: unknown, doing: Doing, path: string): FenceError {
  if (error instanceof FenceError) return error;
  const cause = error;
  const errno = codeOf(error);
  if (errno === 'ENOENT') {
    const text = `there is no ${JSON.stringify(path)}: make the directory of the fence, or see whether its disk is mounted`;
    return new FenceError('SCHEMA_MISSING', text, { cause });
  }
  const advice = ADVICE[errno];
  const what = `${JSON.stringify(path)} cannot be ${doing === 'read' ? 'read' : 'written'}`;
  const text = `${what} (${messageOf(error)})`;
  // A failed sync may have left anything.
  const indeterminate = doing === 'publish' && errno === 'EIO';
  return new FenceError('RESOURCE', advice === undefined ? text : `${text}: ${advice}`, {
    cause,
    indeterminate,
    retryable: AGAIN.includes(errno),
  });
}
