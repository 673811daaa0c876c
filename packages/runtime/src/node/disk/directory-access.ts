/**
 * Who else may look into a directory: nobody. What this process makes has no rights for others from the start, whatever the umask; this
 * is for what it finds, made by an operator, a copy or an older program.
 */

import { chmod, lstat, readdir } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { join } from 'node:path';

import { DiskError } from '../../disk.ts';
import type { RestrictedAccess } from '../../disk.ts';
import { diskOperation, errnoOf } from './disk-errors.ts';

export const PRIVATE_DIRECTORY_MODE = 0o700;
export const PRIVATE_FILE_MODE = 0o600;
const OTHERS = 0o077;
const RIGHTS = 0o7777;

export function restrictAccess(path: string): Promise<RestrictedAccess> {
  return diskOperation('take the rights of other users from', path, async () => {
    const found = { restricted: [] as string[], open: [] as string[] };
    const directory = await lstat(path);
    if (isOpen(directory) && !isOurs(directory)) {
      const mode = (directory.mode & RIGHTS).toString(8);
      throw new DiskError(
        'PERMISSION',
        path,
        `${path} belongs to user ${directory.uid} and has the mode ${mode}, so that other users can get at what is in it: give it to the user of this process (chown) with the mode 700, or name a directory inside it`,
      );
    }
    await restrict(path, directory, found);
    for (const name of await readdir(path)) {
      const entry = join(path, name);
      const stats = await lstatIfThere(entry);
      // The rights of a symbolic link mean nothing, and those of what it names are not ours to change.
      if (stats !== undefined && !stats.isSymbolicLink()) await restrict(entry, stats, found);
    }
    return found;
  });
}

async function restrict(path: string, stats: Stats, found: { restricted: string[]; open: string[] }): Promise<void> {
  if (!isOpen(stats)) return;
  try {
    await chmod(path, stats.mode & RIGHTS & ~OTHERS);
    found.restricted.push(path);
  } catch (error) {
    // Another user's file, or a file system without rights.
    if (errnoOf(error) !== 'ENOENT') found.open.push(path);
  }
}

async function lstatIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function isOpen({ mode }: Stats): boolean {
  return (mode & OTHERS) !== 0;
}

/** Root may change the rights of everything. */
function isOurs({ uid }: Stats): boolean {
  const own = process.getuid?.();
  return own === undefined || own === 0 || own === uid;
}
