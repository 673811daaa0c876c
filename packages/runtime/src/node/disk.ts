/** The operating system's files. Nothing here blocks the event loop. */

import { mkdir, open, readdir, readFile, rename, rm, statfs, unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

import type { Disk } from '../disk.ts';
import { diskOperation, errnoOf } from './disk-errors.ts';
import { openNodeFile } from './disk-file.ts';
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
    lockDirectory,
  };
}

function makeDirectory(path: string): Promise<void> {
  return diskOperation('make the directory', path, async () => {
    const full = resolve(path);
    const first = await mkdir(full, { recursive: true });
    if (first === undefined) return syncParentOfExisting(full);
    for (let made = full; ; made = dirname(made)) {
      await syncDirectory(dirname(made));
      if (made === first || made === dirname(made)) return;
    }
  });
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
