/** Finds a base port under which every port of a local ensemble is free, for ensembles that run beside the user's own. */

import { createServer } from 'node:net';

import { clientAddress, fencedKvAddress, peerAddress, serverIds } from './addresses.ts';
import { EnsembleError } from './ensemble-error.ts';

const LOWEST = 20_000;
// Below the range from which operating systems hand out ports of outgoing connections.
const HIGHEST = 32_000;
const ATTEMPTS = 50;

/** Nothing keeps the ports free afterwards; a caller that loses the race gets the server's "port in use". */
export async function findFreeBasePort(servers: number): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const basePort = LOWEST + 10 * Math.floor((Math.random() * (HIGHEST - LOWEST)) / 10);
    if (await allFree(basePort, servers)) return basePort;
  }
  throw new EnsembleError(
    'PORT_IN_USE',
    `no free range of ports was found between ${LOWEST} and ${HIGHEST}; stop something`,
  );
}

async function allFree(basePort: number, servers: number): Promise<boolean> {
  const addresses = serverIds(servers).flatMap((id) => [clientAddress(basePort, id), peerAddress(basePort, id)]);
  for (const address of [...addresses, fencedKvAddress(basePort)]) {
    if (!(await isFree(Number(address.split(':')[1])))) return false;
  }
  return true;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
