import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** A cluster of Redis has a second port, 10,000 above the one that is given. */
const HIGHEST_PORT = 55_000;

/** A port of 127.0.0.1 on which nothing listens. Nothing keeps it free afterwards. */
export async function freePort(): Promise<number> {
  for (;;) {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    if (port < HIGHEST_PORT) return port;
  }
}
