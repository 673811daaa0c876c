/**
 * One process at a time on a directory, without native code. Every taker listens on a UNIX socket of its own in the
 * directory and publishes it *before* it looks for others: of two takers at least one sees the other, so never both
 * hold. Names are random and never used again, so removing a dead one cannot remove a live one; a socket is named `.sock`
 * only when it listens already, so one that refuses is dead, whatever killed its process. Two takers at the same moment
 * ask each other: the smaller name waits for the other to give up. Works within one machine, not across a network file system.
 */

import { randomBytes } from 'node:crypto';
import { chmod, open, readdir, rename, unlink } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import type { Server } from 'node:net';
import { join } from 'node:path';

import { DiskError } from '../../disk.ts';
import type { DirectoryLock } from '../../disk.ts';
import { PRIVATE_FILE_MODE } from './directory-access.ts';
import { diskError, diskOperation, errnoOf } from './disk-errors.ts';

/** What fits into `sockaddr_un`, without the closing zero. */
const MAX_SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;

/**
 * A taker that does not say what it is doing within this is taken for the holder: it may be stopped. Long enough for a busy
 * machine, or two starters could both give up.
 */
const ANSWER_TIMEOUT_MS = 2_000;
const RETRY_MS = 10;
const MAX_RETRIES = 200;

const HOLDS = 'holds';
const TRIES = 'tries';

export const isLockName = (name: string): boolean => /^\.?lock-[0-9a-f]{16}\.(?:sock|new)$/.test(name);

export function lockDirectory(path: string): Promise<DirectoryLock> {
  return diskOperation('lock', path, async () => {
    const directory = await open(path, 'r');
    try {
      return await takeDirectory(path, directory.fd);
    } finally {
      await directory.close();
    }
  });
}

async function takeDirectory(path: string, descriptor: number): Promise<DirectoryLock> {
  const id = randomBytes(8).toString('hex');
  const name = `lock-${id}.sock`;
  const claim = new Claim();
  const hidden = `.lock-${id}.new`;
  await claim.listen(socketPath(path, descriptor, hidden));
  const release = async () => {
    await removeSocket(join(path, name));
    claim.close();
  };
  try {
    await chmod(join(path, hidden), PRIVATE_FILE_MODE);
    await rename(join(path, hidden), join(path, name));
    await waitForOthers(path, descriptor, name);
  } catch (error) {
    await removeSocket(join(path, hidden));
    await release();
    throw error;
  }
  claim.state = HOLDS;
  let released: Promise<void> | undefined;
  return {
    release: () => {
      released ??= release().catch((error: unknown) => Promise.reject(diskError('unlock', path, error)));
      return released;
    },
  };
}

/** Resolves when nobody else lives; rejects with LOCKED. */
async function waitForOthers(path: string, descriptor: number, own: string): Promise<void> {
  for (let attempt = 0; attempt < MAX_RETRIES; attempt += 1) {
    let othersTry = false;
    for (const name of await readdir(path)) {
      if (!isLockName(name) || name === own || name.startsWith('.')) continue;
      const state = await stateOf(socketPath(path, descriptor, name));
      if (state === 'dead') await removeSocket(join(path, name));
      else if (state === HOLDS || name < own) throw locked(path);
      else othersTry = true;
    }
    if (!othersTry) return;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
  throw locked(path);
}

/**
 * Never by `rm`: on Node 20 it leaves the socket's kind behind in the figures of the last stat that all of Node shares, and the module
 * loader, which looks there, takes the next symbolic link to a package for no link.
 */
async function removeSocket(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

function locked(path: string): DiskError {
  return new DiskError(
    'LOCKED',
    path,
    `${path} is in use by another running process; stop it or use another directory`,
  );
}

/** The socket by which a process shows that it lives, and says how far it is. Does not keep the process alive. */
class Claim {
  state: typeof HOLDS | typeof TRIES = TRIES;
  readonly #server: Server = createServer((socket) => {
    socket.unref();
    socket.on('error', () => socket.destroy());
    socket.end(this.state);
  });

  listen(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, () => {
        this.#server.off('error', reject);
        // Running out of descriptors while accepting does not end the claim.
        this.#server.on('error', () => {});
        this.#server.unref();
        resolve();
      });
    });
  }

  /** Who is being answered still keeps nobody waiting: those connections do not keep the process alive, so it would end without a word. */
  close(): void {
    this.#server.close();
  }
}

function stateOf(path: string): Promise<'dead' | typeof HOLDS | typeof TRIES> {
  return new Promise((resolve, reject) => {
    let heard = '';
    const socket = createConnection(path);
    const timeout = setTimeout(() => finish(HOLDS), ANSWER_TIMEOUT_MS);
    const finish = (state: 'dead' | typeof HOLDS | typeof TRIES) => {
      clearTimeout(timeout);
      socket.destroy();
      resolve(state);
    };
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      heard += text;
    });
    socket.on('end', () => finish(heard === TRIES ? TRIES : HOLDS));
    socket.on('error', (error) => {
      const errno = errnoOf(error);
      if (errno === 'ECONNREFUSED' || errno === 'ENOENT') finish('dead');
      // Its backlog is full, or it ended in the middle: the next look will tell.
      else if (errno === 'EAGAIN' || errno === 'ECONNRESET' || errno === 'EPIPE') finish(TRIES);
      else {
        clearTimeout(timeout);
        reject(error);
      }
    });
  });
}

/** Socket paths are short; Linux reaches any directory through an open descriptor of it. */
function socketPath(directory: string, descriptor: number, name: string): string {
  const path = join(directory, name);
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES) return path;
  if (process.platform === 'linux') return `/proc/self/fd/${descriptor}/${name}`;
  throw new DiskError(
    'IO',
    directory,
    `cannot lock ${directory}: the socket ${path} would be longer than ${MAX_SOCKET_PATH_BYTES} bytes; use a directory with a shorter path`,
  );
}
