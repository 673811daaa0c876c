/** The operating system's files. Nothing here blocks the event loop; one `append` is one trip to the thread pool. */

import { constants } from 'node:fs';
import { mkdir, open, readFile, readdir, rename, rm, statfs, unlink, type FileHandle } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';

import { DiskError, type DirectoryLock, type Disk, type DiskErrorCode, type DiskFile } from '../index.ts';

const CODES: Readonly<Record<string, DiskErrorCode>> = {
  ENOSPC: 'NO_SPACE',
  EDQUOT: 'NO_SPACE',
  EFBIG: 'NO_SPACE',
  ENOENT: 'NOT_FOUND',
  EEXIST: 'EXISTS',
  EROFS: 'READ_ONLY',
  EACCES: 'PERMISSION',
  EPERM: 'PERMISSION',
};
const LOCK_NAME = 'lock.sock';

async function run<T>(path: string, action: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new DiskError(CODES[code ?? ''] ?? 'IO', path, `cannot ${action} ${path}: ${message}`, { cause: error });
  }
}

async function syncDirectory(path: string): Promise<void> {
  await run(path, 'sync the directory', async () => {
    const handle = await open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  });
}

export function nodeDisk(): Disk {
  return {
    async makeDirectory(path) {
      const first = await run(path, 'make the directory', () => mkdir(path, { recursive: true }));
      if (first === undefined) return;
      for (let made = resolve(path); ; made = dirname(made)) {
        await syncDirectory(dirname(made));
        if (made === resolve(first)) return;
      }
    },
    list: (path) => run(path, 'list', async () => (await readdir(path)).sort()),
    open: (path, mode) =>
      run(path, mode === 'create' ? 'create' : 'open', async () => {
        const plain = await open(path, mode === 'create' ? 'wx+' : 'r+');
        const durable = await open(path, constants.O_RDWR | constants.O_DSYNC);
        return new NodeFile(path, plain, durable);
      }),
    readFile: (path) => run(path, 'read', () => readFile(path)),
    rename: (from, to) => run(from, 'rename', () => rename(from, to)),
    remove: (path) => run(path, 'remove', () => unlink(path)),
    removeTree: (path) => run(path, 'remove', () => rm(path, { recursive: true, force: true })),
    syncDirectory,
    freeBytes: (path) =>
      run(path, 'ask the free space of', async () => {
        const s = await statfs(path);
        return s.bavail * s.bsize;
      }),
    lockDirectory: (path) => lock(path),
  };
}

class NodeFile implements DiskFile {
  readonly path: string;
  readonly #plain: FileHandle;
  readonly #durable: FileHandle;
  constructor(path: string, plain: FileHandle, durable: FileHandle) {
    this.path = path;
    this.#plain = plain;
    this.#durable = durable;
  }
  append(position: number, buffers: readonly Uint8Array[]): Promise<void> {
    return run(this.path, 'write', async () => {
      const total = buffers.reduce((sum, b) => sum + b.length, 0);
      const { bytesWritten } = await this.#durable.writev(buffers as Uint8Array[], position);
      if (bytesWritten < total) {
        const rest = Buffer.concat(buffers).subarray(bytesWritten);
        await this.#durable.write(rest, 0, rest.length, position + bytesWritten);
      }
    });
  }
  write(position: number, bytes: Uint8Array): Promise<void> {
    return run(this.path, 'write', async () => {
      await this.#plain.write(bytes, 0, bytes.length, position);
    });
  }
  sync(): Promise<void> {
    return run(this.path, 'sync', () => this.#plain.sync());
  }
  read(position: number, length: number): Promise<Uint8Array> {
    return run(this.path, 'read', async () => {
      const buffer = Buffer.alloc(length);
      const { bytesRead } = await this.#plain.read(buffer, 0, length, position);
      return buffer.subarray(0, bytesRead);
    });
  }
  truncate(length: number): Promise<void> {
    return run(this.path, 'truncate', () => this.#plain.truncate(length));
  }
  size(): Promise<number> {
    return run(this.path, 'stat', async () => (await this.#plain.stat()).size);
  }
  async close(): Promise<void> {
    await this.#plain.close();
    await this.#durable.close();
  }
}

async function lock(path: string): Promise<DirectoryLock> {
  const socketPath = join(path, LOCK_NAME);
  const alive = await new Promise<boolean>((done) => {
    const c = createConnection(socketPath);
    c.once('connect', () => {
      c.destroy();
      done(true);
    });
    c.once('error', () => done(false));
  });
  if (alive) throw new DiskError('LOCKED', path, `${path} is used by another process`);
  await rm(socketPath, { force: true });
  const server = createServer();
  await new Promise<void>((done, fail) => {
    server.once('error', fail);
    server.listen(socketPath, done);
  });
  server.unref();
  return { release: () => new Promise((done) => server.close(() => done())) };
}
