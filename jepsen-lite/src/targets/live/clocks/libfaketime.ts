/** Where libfaketime is, whether it works here, and what it keeps of each process. */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

/** The one for programs with threads, which Node is. */
const LIBRARY = 'libfaketimeMT.so.1';
/** Debian and Ubuntu have one for each processor. */
const PLACES = ['/usr/lib', '/usr/lib64', '/usr/local/lib', '/usr/local/lib64'];
/** Shared memory in which a process and its children find when the first of them began; left behind by one that is killed. */
const SHARED_MEMORY = '/dev/shm';
const REMAINS = /^(?:sem\.)?faketime_(?:shm|sem)_(\d+)$/;

/** Undefined when it is not installed. */
export function libfaketimePath(): string | undefined {
  const folders = PLACES.flatMap((place) => [place, ...namesIn(place).map((name) => join(place, name))]);
  return folders.map((folder) => join(folder, 'faketime', LIBRARY)).find((path) => existsSync(path));
}

/** Why no clock can be faked here; undefined where it can. Tries it. */
export function fakeClockProblem(): string | undefined {
  if (process.platform !== 'linux') return `needs Linux, and this is ${process.platform}`;
  const library = libfaketimePath();
  if (library === undefined) return `needs the package faketime: there is no ${LIBRARY}`;
  const env = { LD_PRELOAD: library, FAKETIME: '+1000d', FAKETIME_DONT_FAKE_MONOTONIC: '1' };
  const { stdout, pid } = spawnSync(process.execPath, ['-p', 'Date.now()'], { env, encoding: 'utf8' });
  forget(pid);
  const aheadDays = (Number(stdout) - Date.now()) / 86_400_000;
  return Math.abs(aheadDays - 1_000) < 1 ? undefined : `${library} does not change the clock of Node`;
}

/**
 * In milliseconds of the machine's wall clock, to a few milliseconds: libfaketime makes its shared memory just before it looks at the
 * clock. Undefined while it has not.
 */
export function beganMs(pid: number): number | undefined {
  return statSync(join(SHARED_MEMORY, `faketime_shm_${pid}`), { throwIfNoEntry: false })?.mtimeMs;
}

/** Of a process that has ended. */
export function forget(pid: number): void {
  for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`]) {
    try {
      unlinkSync(join(SHARED_MEMORY, name));
    } catch {
      // It ended in order, and has taken it along.
    }
  }
}

/** What dead processes have left: one that gets the number of such a one would not start. */
export function forgetTheDead(): void {
  for (const name of namesIn(SHARED_MEMORY)) {
    const pid = REMAINS.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) forget(Number(pid));
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
