/**
 * The socket on which operators' commands reach a running server: a Unix socket in a directory of the data directory that only the user of
 * the server, and root, may enter. So who may give it commands is who may change the data of a stopped one. It is no port: nobody on the
 * network reaches it.
 */

import { chmod, mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join, relative, resolve } from 'node:path';

import { getRequestListener } from '@hono/node-server';
import type { Logger } from '@holdfast/runtime';

import type { HttpHandler } from '../http/handler.ts';
import { MAX_ADMIN_CONNECTIONS } from '../limits.ts';

/** In the data directory. */
const FOLDER = 'admin';
const SOCKET = 'socket';
const PRIVATE_MODE = 0o700;
/** Bytes of a path that every system takes for a socket: macOS has 104 with the zero at the end, Linux 108. */
const MAX_SOCKET_PATH_BYTES = 103;
const HEAD_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;

export interface AdminSocket {
  /** Ends what is under way, too: a backup that is being taken. */
  close(): Promise<void>;
}

/** The socket of the server on that data directory. */
export function adminSocketPath(data: string): string {
  const absolute = resolve(data, FOLDER, SOCKET);
  const fromHere = relative('.', absolute);
  return absolute.length <= fromHere.length ? absolute : fromHere;
}

/**
 * Listens. The data directory must be locked by this process: a socket of the same name is one that a killed process has left. Undefined
 * where it cannot be had, which the log says: the server serves all the same.
 */
export async function openAdminSocket(
  data: string,
  handler: HttpHandler,
  { logger }: { readonly logger: Logger },
): Promise<AdminSocket | undefined> {
  const path = adminSocketPath(data);
  const answer = getRequestListener(handler, { overrideGlobalObjects: false });
  const server = createServer(
    { headersTimeout: HEAD_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    (incoming, outgoing) => void answer(incoming, outgoing),
  );
  server.maxConnections = MAX_ADMIN_CONNECTIONS;
  try {
    if (Buffer.byteLength(path) > MAX_SOCKET_PATH_BYTES) {
      throw new Error(`a socket's path has at most ${MAX_SOCKET_PATH_BYTES} bytes; choose a shorter --data`);
    }
    const folder = join(data, FOLDER);
    await mkdir(folder, { recursive: true, mode: PRIVATE_MODE });
    await chmod(folder, PRIVATE_MODE);
    await rm(path, { force: true });
    await new Promise<void>((done, reject) => {
      server.once('error', reject);
      server.listen(path, () => {
        server.off('error', reject);
        done();
      });
    });
  } catch (error) {
    logger.warn(
      { err: error, path },
      'there is no socket for commands of operators; they work while the server is stopped',
    );
    return undefined;
  }
  return {
    async close() {
      await new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      });
    },
  };
}
