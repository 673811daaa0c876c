/** A server that is told to stop ends by itself, with 0, though clients are connected, one of them in the middle of a request. */

import { once } from 'node:events';
import { createConnection } from 'node:net';
import { join } from 'node:path';

import type { LiveDetector } from '../live-mutant.ts';
import { connectTo, startLockd } from './lockd-program.ts';

/** Shorter than any server waits for the rest of a request. */
const STOP_LIMIT_MS = 6_000;

export const stopping: LiveDetector = async ({ planted, directory }) => {
  const server = await startLockd(planted, join(directory, 'data'));
  const client = await connectTo(server.address, 30_000);
  const [host = '', port = ''] = server.address.split(':');
  const slow = createConnection(Number(port), host).on('error', () => undefined);
  try {
    await once(slow, 'connect');
    slow.write('GET /status HTTP/1.1\r\nHost: ');
    await client.lock('a').acquire();
    server.program.signal('SIGTERM');
    const late = new Promise<string>((resolve) => {
      setTimeout(() => resolve('goes on'), STOP_LIMIT_MS).unref();
    });
    const outcome = await Promise.race([server.program.ended, late]);
    if (outcome === 0) return undefined;
    return { kind: 'promise', name: 'stopping', message: `a server that was told to stop: ${outcome}` };
  } finally {
    slow.destroy();
    await server.program.kill();
    await client.close();
  }
};
