/**
 * A disk that waits for a file descriptor. A process that has none left (connections have taken them) can open one again in a moment:
 * nothing has been written, and nothing is known to be missing. Without this a switch to the next log segment at such a moment would end
 * the server as a failed write does.
 */

import type { Clock } from './clock.ts';
import { DiskError, type Disk } from './disk.ts';
import type { Logger } from './logger.ts';

/** Before another attempt: from this long, doubling, to at most that long. */
const RETRY_MIN_MS = 5;
const RETRY_MAX_MS = 100;

export interface PatientDiskOptions {
  readonly clock: Pick<Clock, 'monotonicMs' | 'setTimer'>;
  readonly logger: Logger;
  /** How long an operation waits for a descriptor before it is rejected with NO_DESCRIPTORS. */
  readonly patienceMs: number;
}

/** What needs no descriptor, or has one, is done as it is. So is making directories: done again it would not know which it has made. */
export function patientDisk(disk: Disk, options: PatientDiskOptions): Disk {
  const patiently = <T>(path: string, operation: () => Promise<T>): Promise<T> =>
    withPatience(path, operation, options);
  return {
    makeDirectory: (path) => disk.makeDirectory(path),
    list: (path) => patiently(path, () => disk.list(path)),
    open: (path, mode) => patiently(path, () => disk.open(path, mode)),
    readFile: (path) => patiently(path, () => disk.readFile(path)),
    rename: (from, to) => disk.rename(from, to),
    remove: (path) => disk.remove(path),
    removeTree: (path) => patiently(path, () => disk.removeTree(path)),
    syncDirectory: (path) => patiently(path, () => disk.syncDirectory(path)),
    freeBytes: (path) => disk.freeBytes(path),
    restrictAccess: (path) => patiently(path, () => disk.restrictAccess(path)),
    lockDirectory: (path) => patiently(path, () => disk.lockDirectory(path)),
  };
}

async function withPatience<T>(
  path: string,
  operation: () => Promise<T>,
  { clock, logger, patienceMs }: PatientDiskOptions,
): Promise<T> {
  let endMs: number | undefined;
  for (let delayMs = RETRY_MIN_MS; ; delayMs = Math.min(RETRY_MAX_MS, 2 * delayMs)) {
    try {
      return await operation();
    } catch (error) {
      if (!(error instanceof DiskError && error.code === 'NO_DESCRIPTORS')) throw error;
      const nowMs = clock.monotonicMs();
      if (endMs === undefined) {
        endMs = nowMs + patienceMs;
        logger.warn({ path, patienceMs, problem: error.message }, 'waiting for a file descriptor');
      }
      if (nowMs >= endMs) throw error;
    }
    await new Promise<void>((resolve) => clock.setTimer(delayMs, resolve));
  }
}
