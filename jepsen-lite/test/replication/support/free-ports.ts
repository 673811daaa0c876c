/** Ports of this machine that nobody listens on, all different. */

import { createServer } from 'node:net';

export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      async (server) =>
        await new Promise<number>((resolve, reject) => {
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => {
            const address = server.address();
            if (address === null || typeof address === 'string') reject(new Error('a server listens on a port'));
            else resolve(address.port);
          });
        }),
    ),
  );
  await Promise.all(servers.map(async (server) => await new Promise((resolve) => server.close(resolve))));
  return ports;
}
