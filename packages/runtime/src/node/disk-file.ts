/**
 * An open file of the operating system. Two descriptors: appends go through one opened with O_DSYNC, so that a durable write
 * is one system call in one thread-pool hop; everything else goes through a plain one. On macOS O_DSYNC does not reach
 * the medium, so an append is a write and an fsync there (which Node makes an F_FULLFSYNC).
 */

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

import { DiskError } from '../disk.ts';
import type { DiskFile } from '../disk.ts';
import { diskOperation } from './disk-errors.ts';

const HAS_DURABLE_DSYNC = process.platform === 'linux';

/** The most buffers that one writev takes (IOV_MAX). */
const MAX_VECTOR = 1_024;

export async function openNodeFile(path: string, mode: 'existing' | 'create'): Promise<DiskFile> {
  return diskOperation(mode === 'create' ? 'create' : 'open', path, async () => {
    const plain = await open(path, mode === 'create' ? 'wx+' : 'r+');
    try {
      // Both now: after a rename the path would name another file.
      const durable = HAS_DURABLE_DSYNC ? await open(path, constants.O_RDWR | constants.O_DSYNC) : undefined;
      return new NodeFile(path, plain, durable);
    } catch (error) {
      await plain.close();
      throw error;
    }
  });
}

class NodeFile implements DiskFile {
  readonly path: string;
  readonly #plain: FileHandle;
  readonly #durable: FileHandle | undefined;
  #closing: Promise<void> | undefined;

  constructor(path: string, plain: FileHandle, durable: FileHandle | undefined) {
    this.path = path;
    this.#plain = plain;
    this.#durable = durable;
  }

  append(position: number, buffers: readonly Uint8Array[]): Promise<void> {
    return this.#run('append to', async () => {
      await writeAll(this.#durable ?? this.#plain, position, buffers);
      if (this.#durable === undefined) await this.#plain.sync();
    });
  }

  write(position: number, bytes: Uint8Array): Promise<void> {
    return this.#run('write', () => writeAll(this.#plain, position, [bytes]));
  }

  sync(): Promise<void> {
    return this.#run('sync', () => this.#plain.datasync());
  }

  read(position: number, length: number): Promise<Uint8Array> {
    return this.#run('read', async () => {
      const bytes = new Uint8Array(length);
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
      await this.#durable?.close();
      await this.#plain.close();
    });
    return this.#closing;
  }

  #run<T>(action: string, work: () => Promise<T>): Promise<T> {
    return diskOperation(action, this.path, () => {
      if (this.#closing !== undefined) {
        throw new DiskError('IO', this.path, `cannot ${action} ${this.path}: the file was closed`);
      }
      return work();
    });
  }
}

/** One system call, and more only where the system wrote less than asked. */
async function writeAll(handle: FileHandle, position: number, buffers: readonly Uint8Array[]): Promise<void> {
  const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
  if (length === 0) return;
  const written = await writeOnce(handle, position, buffers);
  if (written === length) return;
  const bytes = Buffer.concat(buffers);
  for (let at = written; at < length;) {
    const { bytesWritten } = await handle.write(bytes, at, length - at, position + at);
    if (bytesWritten === 0) throw new Error(`the system wrote ${at} of ${length} bytes and then no more`);
    at += bytesWritten;
  }
}

async function writeOnce(handle: FileHandle, position: number, buffers: readonly Uint8Array[]): Promise<number> {
  const [first] = buffers;
  if (first === undefined) return 0;
  if (buffers.length > 1 && buffers.length <= MAX_VECTOR) {
    return (await handle.writev(buffers, position)).bytesWritten;
  }
  const bytes = buffers.length === 1 ? first : Buffer.concat(buffers);
  return (await handle.write(bytes, 0, bytes.length, position)).bytesWritten;
}
