/** A disk that does some operations differently, and the rest as the one behind it. */

import type { Disk, DiskFile } from '@holdfast/runtime';

export interface Alterations {
  readonly append?: (file: DiskFile, position: number, buffers: readonly Uint8Array[]) => Promise<void>;
  readonly syncDirectory?: (path: string) => Promise<void>;
}

export function alterDisk(disk: Disk, { append, syncDirectory }: Alterations): Disk {
  return {
    makeDirectory: (path) => disk.makeDirectory(path),
    list: (path) => disk.list(path),
    readFile: (path) => disk.readFile(path),
    rename: (from, to) => disk.rename(from, to),
    remove: (path) => disk.remove(path),
    removeTree: (path) => disk.removeTree(path),
    freeBytes: (path) => disk.freeBytes(path),
    restrictAccess: (path) => disk.restrictAccess(path),
    lockDirectory: (path) => disk.lockDirectory(path),
    syncDirectory: syncDirectory ?? ((path) => disk.syncDirectory(path)),
    open: async (path, mode) => {
      const file = await disk.open(path, mode);
      return append === undefined ? file : withAppend(file, append);
    },
  };
}

function withAppend(file: DiskFile, append: NonNullable<Alterations['append']>): DiskFile {
  return {
    path: file.path,
    append: (position, buffers) => append(file, position, buffers),
    write: (position, bytes) => file.write(position, bytes),
    sync: () => file.sync(),
    read: (position, length) => file.read(position, length),
    truncate: (length) => file.truncate(length),
    size: () => file.size(),
    close: () => file.close(),
  };
}
