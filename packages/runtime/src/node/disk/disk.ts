/** The operating system's files. Nothing here blocks the event loop. */

import { mkdir, open, readdir, readFile, rename, rm, stat, statfs, unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import type { Disk } from '../../disk.ts';
import { diskOperation, errnoOf } from './disk-errors.ts';
import { openNodeFile } from './disk-file.ts';
import { PRIVATE_DIRECTORY_MODE, restrictAccess } from './directory-access.ts';
import { isLockName, lockDirectory } from './directory-lock.ts';

export function nodeDisk(): Disk {
  return {
    makeDirectory,
    list: (path) =>
      diskOperation('list', path, async () => (await readdir(path)).filter((name) => !isLockName(name)).toSorted()),
    open: openNodeFile,
    readFile: (path) =>
      diskOperation('read', path, async () => {
        const { buffer, byteOffset, length } = await readFile(path);
        return new Uint8Array(buffer, byteOffset, length);
      }),
    rename: (from, to) => diskOperation(`rename to ${to}`, from, () => rename(from, to)),
    remove: (path) => diskOperation('remove', path, () => unlink(path)),
    removeTree: (path) => diskOperation('remove', path, () => rm(path, { recursive: true, force: true })),
    syncDirectory: (path) => diskOperation('sync the directory', path, () => syncDirectory(path)),
    freeBytes: (path) =>
      diskOperation('ask the free space of', path, async () => {
        const { bavail, bsize } = await statfs(path);
        return bavail * bsize;
      }),
    restrictAccess,
    lockDirectory,
  };
}

function makeDirectory(path: string): Promise<void> {
  return diskOperation('make the directory', path, async () => {
    const full = resolve(path);
    const first = await makeWithParents(full);
    if (first === undefined) return syncParentOfExisting(full);
    for (let made = full; ; made = dirname(made)) {
      await syncDirectory(dirname(made));
      if (made === first || made === dirname(made)) return;
    }
  });
}

/**
 * The first directory that was made; undefined when there was nothing to make. On a read-only file system Node.js says of the whole
 * path that it does not exist; the topmost directory by itself tells why it cannot be made.
 */
async function makeWithParents(full: string): Promise<string | undefined> {
  try {
    return await mkdir(full, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    await mkdir(await topmostMissing(full), PRIVATE_DIRECTORY_MODE);
    throw error;
  }
}

async function topmostMissing(full: string): Promise<string> {
  const parent = dirname(full);
  const parentExists =
    parent === full ||
    (await stat(parent).then(
      () => true,
      () => false,
    ));
  return parentExists ? full : topmostMissing(parent);
}

/** Whoever made it may have been killed before it was durable. A parent that we may not read is not ours to sync. */
async function syncParentOfExisting(path: string): Promise<void> {
  try {
    await syncDirectory(dirname(path));
  } catch (error) {
    const errno = errnoOf(error);
    if (errno !== 'EACCES' && errno !== 'EPERM') throw error;
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
