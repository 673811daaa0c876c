/** Finds a base port under which every port of a local ensemble is free, for ensembles that run beside the user's own. */

import { createServer } from 'node:net';

import { clientAddress, fencedKvAddress, HIGHEST_BASE_PORT, peerAddress, serverIds } from './addresses.ts';
import { EnsembleError } from './ensemble-error.ts';

const LOWEST = 20_000;
// Below the range from which operating systems hand out ports of outgoing connections.
const HIGHEST = 32_000;
const ATTEMPTS = 50;
const STEP = 1_000;
const STEPS_ABOVE = 10;

/** Nothing keeps the ports free afterwards; a caller that loses the race gets the server's "port in use". */
export async function findFreeBasePort(servers: number): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const basePort = LOWEST + 10 * Math.floor((Math.random() * (HIGHEST - LOWEST)) / 10);
    if ((await addressesInUse(basePort, servers, true)).length === 0) return basePort;
  }
  throw new EnsembleError(
    'PORT_IN_USE',
    `no free range of ports was found between ${LOWEST} and ${HIGHEST}; stop something`,
  );
}

/** The next base port, some thousands further, under which all is free now; undefined when none of them is. */
export async function freeBasePortAbove(basePort: number, servers: number): Promise<number | undefined> {
  for (let step = 1; step <= STEPS_ABOVE; step += 1) {
    const next = basePort + step * STEP;
    if (next > HIGHEST_BASE_PORT) return undefined;
    if ((await addressesInUse(next, servers, true)).length === 0) return next;
  }
  return undefined;
}

/** The addresses of such an ensemble on which something listens already. */
export async function addressesInUse(basePort: number, servers: number, fencedKv: boolean): Promise<string[]> {
  const addresses = serverIds(servers).flatMap((id) => [clientAddress(basePort, id), peerAddress(basePort, id)]);
  if (fencedKv) addresses.push(fencedKvAddress(basePort));
  const free = await Promise.all(addresses.map((address) => isFree(Number(address.split(':')[1]))));
  return addresses.filter((_, position) => free[position] === false);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
