/**
 * An open file of the operating system. Two descriptors: appends go through one opened with O_DSYNC, so that a durable write
 * is one system call in one thread-pool hop; everything else goes through a plain one. On macOS O_DSYNC does not reach
 * the medium, so an append is a write and an fsync there (which Node makes an F_FULLFSYNC).
 */

import { constants } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

import { DiskError } from '../../disk.ts';
import type { DiskFile } from '../../disk.ts';
import { PRIVATE_FILE_MODE } from './directory-access.ts';
import { diskError, diskOperation } from './disk-errors.ts';
import { writeAll } from './write-all.ts';

const HAS_DURABLE_DSYNC = process.platform === 'linux';

export async function openNodeFile(path: string, mode: 'existing' | 'create'): Promise<DiskFile> {
  return diskOperation(mode === 'create' ? 'create' : 'open', path, async () => {
    const plain = await open(path, mode === 'create' ? 'wx+' : 'r+', PRIVATE_FILE_MODE);
    try {
      // Both now: after a rename the path would name another file.
      const durable = HAS_DURABLE_DSYNC ? await open(path, constants.O_RDWR | constants.O_DSYNC) : undefined;
      return new NodeFile(path, plain, durable);
    } catch (error) {
      await plain.close();
      // Nobody has seen it, and whoever tries again must be able to make it.
      if (mode === 'create') await unlink(path);
      throw error;
    }
  });
}

class NodeFile implements DiskFile {
  readonly path: string;
  readonly #plain: FileHandle;
  readonly #durable: FileHandle | undefined;
  #closing: Promise<void> | undefined;
  /** Writes under way on a bare descriptor, of which the handles do not know. */
  #writing = 0;
  #allWritten: (() => void) | undefined;

  constructor(path: string, plain: FileHandle, durable: FileHandle | undefined) {
    this.path = path;
    this.#plain = plain;
    this.#durable = durable;
  }

  append(position: number, buffers: readonly Uint8Array[]): Promise<void> {
    return this.#durable === undefined
      ? this.#write('append to', this.#plain, position, buffers, () => this.#plain.sync())
      : this.#write('append to', this.#durable, position, buffers);
  }

  write(position: number, bytes: Uint8Array): Promise<void> {
    return this.#write('write', this.#plain, position, [bytes]);
  }

  sync(): Promise<void> {
    return this.#run('sync', () => this.#plain.datasync());
  }

  read(position: number, length: number, room?: Uint8Array): Promise<Uint8Array> {
    return this.#run('read', async () => {
      const bytes = room !== undefined && room.length >= length ? room : new Uint8Array(length);
      let filled = 0;
      while (filled < length) {
        const { bytesRead } = await this.#plain.read(bytes, filled, length - filled, position + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return bytes.subarray(0, filled);
    });
  }

  truncate(length: number): Promise<void> {
    return this.#run('truncate', () => this.#plain.truncate(length));
  }

  size(): Promise<number> {
    return this.#run('ask the size of', async () => (await this.#plain.stat()).size);
  }

  /** Waits for operations under way; a second call has the outcome of the first. */
  close(): Promise<void> {
    this.#closing ??= diskOperation('close', this.path, async () => {
      if (this.#writing > 0) await new Promise<void>((resolve) => (this.#allWritten = resolve));
      await this.#durable?.close();
      await this.#plain.close();
    });
    return this.#closing;
  }

  #write(
    action: string,
    handle: FileHandle,
    position: number,
    buffers: readonly Uint8Array[],
    afterwards?: () => Promise<void>,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#refuseWhenClosed(action);
      this.#writing += 1;
      const settle = (error: unknown): void => {
        this.#writing -= 1;
        if (error === null) resolve();
        else reject(diskError(action, this.path, error));
        if (this.#writing === 0) this.#allWritten?.();
      };
      writeAll(handle.fd, position, buffers, (error) => {
        if (error !== null || afterwards === undefined) settle(error);
        else afterwards().then(() => settle(null), settle);
      });
    });
  }

  #run<T>(action: string, work: () => Promise<T>): Promise<T> {
    return diskOperation(action, this.path, () => {
      this.#refuseWhenClosed(action);
      return work();
    });
  }

  #refuseWhenClosed(action: string): void {
    if (this.#closing === undefined) return;
    throw new DiskError('IO', this.path, `cannot ${action} ${this.path}: the file was closed`);
  }
}
