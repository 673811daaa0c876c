/** The `Disk` of one simulated process, over the machine's disk. Its answers die with the process. */

import { DiskError } from '../../disk.ts';
import type { DirectoryLock, Disk, DiskFile } from '../../disk.ts';
import { copyOf, type PendingChange } from './disk-content.ts';
import type { DiskOperation } from './disk-operation.ts';
import type { OperationSteps, SimDisk } from './disk.ts';
import type { FileNode } from './disk-tree.ts';
import { never } from '../process.ts';
import type { SimProcess } from '../process.ts';

export function diskOf(process: SimProcess, disk: SimDisk): Disk {
  const { tree } = disk;
  /** For operations that take effect at once and answer later. */
  const simple = <T>(operation: DiskOperation, path: string, action: () => T): Promise<T> =>
    disk.perform(process, operation, path, () => {
      const value = action();
      return { complete: () => value };
    });

  return {
    makeDirectory: (path) => simple('makeDirectory', path, () => tree.makeDirectory(path)),
    list: (path) => simple('list', path, () => [...tree.directory(path).entries.keys()].toSorted()),
    open: (path, mode) =>
      simple('open', path, () => {
        const file = mode === 'create' ? tree.create(path) : tree.file(path);
        return new SimDiskFile(path, file, process, disk);
      }),
    readFile: (path) =>
      disk.perform(process, 'read', path, () => {
        const { content } = tree.file(path);
        return { complete: () => disk.read(content, 0, content.length) };
      }),
    rename: (from, to) => simple('rename', from, () => tree.rename(from, to)),
    remove: (path) => simple('remove', path, () => tree.remove(path)),
    removeTree: (path) => simple('remove', path, () => tree.removeTree(path)),
    syncDirectory: (path) =>
      disk.perform(process, 'syncDirectory', path, () => {
        const directory = tree.directory(path);
        const covered = [...directory.pending];
        return { complete: () => tree.sync(directory, covered) };
      }),
    freeBytes: (path) =>
      simple('list', path, () => {
        tree.directory(path);
        return disk.freeBytes;
      }),
    // Everything belongs to the process.
    restrictAccess: () => Promise.resolve({ restricted: [], open: [] }),
    lockDirectory: (path) => lockDirectory(process, disk, path),
  };
}

async function lockDirectory(process: SimProcess, disk: SimDisk, path: string): Promise<DirectoryLock> {
  const perform = (action: () => void) =>
    disk.perform<void>(process, 'lockDirectory', path, () => {
      action();
      return { complete() {} };
    });
  const directory = disk.tree.directory.bind(disk.tree);
  await perform(() => {
    const node = directory(path);
    if (!disk.takeLock(node, process)) {
      throw new DiskError(
        'LOCKED',
        path,
        `"${path}" is in use by another running process; stop it or use another directory`,
      );
    }
  });
  const node = directory(path);
  return { release: () => perform(() => disk.releaseLock(node, process)) };
}

class SimDiskFile implements DiskFile {
  readonly path: string;
  readonly #file: FileNode;
  readonly #process: SimProcess;
  readonly #disk: SimDisk;
  #closed = false;

  constructor(path: string, file: FileNode, process: SimProcess, disk: SimDisk) {
    this.path = path;
    this.#file = file;
    this.#process = process;
    this.#disk = disk;
  }

  append(position: number, buffers: readonly Uint8Array[]): Promise<void> {
    return this.#perform('append', (share) => this.#writeSteps(position, concatenate(buffers), share, true));
  }

  write(position: number, bytes: Uint8Array): Promise<void> {
    return this.#perform('write', (share) => this.#writeSteps(position, copyOf(bytes), share, false));
  }

  sync(): Promise<void> {
    return this.#perform('sync', () => {
      const { content } = this.#file;
      const covered = content.pendingChanges();
      return { complete: () => content.makeDurable(covered), fail: () => forget(covered) };
    });
  }

  read(position: number, length: number): Promise<Uint8Array> {
    const { content } = this.#file;
    return this.#perform('read', () => ({ complete: () => this.#disk.read(content, position, length) }));
  }

  truncate(length: number): Promise<void> {
    return this.#perform('truncate', () => {
      if (length > this.#file.content.length) this.#reserve(length);
      const change = this.#file.content.truncate(length);
      return { complete() {}, fail: () => forget([change]) };
    });
  }

  size(): Promise<number> {
    return this.#perform('read', () => ({ complete: () => this.#file.content.length }));
  }

  close(): Promise<void> {
    if (!this.#process.alive) return never();
    this.#closed = true;
    return Promise.resolve();
  }

  #writeSteps(position: number, bytes: Uint8Array, share: number, durable: boolean): OperationSteps<void> {
    const { content } = this.#file;
    this.#process.scheduler.recordBytes(bytes);
    const wanted = Math.floor(bytes.length * share);
    const fitting = this.#fitting(position, wanted);
    const change = content.write(position, fitting === bytes.length ? bytes : bytes.subarray(0, fitting));
    if (fitting < wanted) {
      forget([change]);
      throw noSpace(this.path, wanted, fitting);
    }
    return {
      complete: () => {
        if (durable) content.makeDurable([change]);
      },
      fail: () => forget([change]),
    };
  }

  /** How many of the bytes there is room for. */
  #fitting(position: number, bytes: number): number {
    const end = position + bytes;
    if (this.#disk.hasUnlimitedSpace || end <= this.#file.content.length) return bytes;
    const room = this.#file.content.length + this.#disk.freeBytes;
    return Math.max(0, Math.min(end, room) - position);
  }

  #reserve(length: number): void {
    if (this.#fitting(0, length) < length) throw noSpace(this.path, length, 0);
  }

  #perform<T>(operation: DiskOperation, begin: (writtenShare: number) => OperationSteps<T>): Promise<T> {
    return this.#disk.perform(this.#process, operation, this.path, (writtenShare) => {
      if (this.#closed) throw new DiskError('IO', this.path, `"${this.path}" was closed (EBADF)`);
      return begin(writtenShare);
    });
  }
}

/** What a failed write or sync covered: it may reach the disk by itself, but no later sync waits for it. */
function forget(changes: readonly PendingChange[]): void {
  for (const change of changes) change.forgotten = true;
}

/** A copy: the program may use its buffers again. */
function concatenate(buffers: readonly Uint8Array[]): Uint8Array {
  const [first] = buffers;
  if (first !== undefined && buffers.length === 1) return Buffer.from(first);
  const bytes = new Uint8Array(buffers.reduce((sum, buffer) => sum + buffer.length, 0));
  let at = 0;
  for (const buffer of buffers) {
    bytes.set(buffer, at);
    at += buffer.length;
  }
  return bytes;
}

function noSpace(path: string, wanted: number, written: number): DiskError {
  return new DiskError(
    'NO_SPACE',
    path,
    `no space left on the disk: ${written} of ${wanted} bytes were written to "${path}" (ENOSPC)`,
  );
}
