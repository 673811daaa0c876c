/** How a server gets its port, and what is said when it does not. */

import type { Server, Socket } from 'node:net';

import { formatAddress, parseAddress } from '../network/address.ts';
import { ListenError } from '../network/network.ts';
import type { Address } from '../network/address.ts';
import { errnoOf } from './disk/disk-errors.ts';

/** Connections that the kernel has made and this process has not taken; by default 511, which a crowd fills at once. */
const LISTEN_BACKLOG = 2_048;

/** Rejects with {@link ListenError}. */
export function bind(server: Server, host: string, port: number, address: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error) => reject(listenError(address, error));
    server.once('error', onError);
    server.listen({ host, port, backlog: LISTEN_BACKLOG }, () => {
      server.off('error', onError);
      resolve();
    });
  });
}

function listenError(address: Address, error: Error): ListenError {
  const [code, reason] = listenFailure(address, error);
  return new ListenError(code, `cannot listen on ${address}: ${reason}`, { cause: error });
}

function listenFailure(address: Address, error: Error): readonly [ListenError['code'], string] {
  const { port } = parseAddress(address);
  switch (errnoOf(error) ?? '') {
    case 'EADDRINUSE': {
      const find = `"lsof -nP -iTCP:${port} -sTCP:LISTEN" or "ss -ltnp sport = :${port}"`;
      return ['ADDRESS_IN_USE', `the port is in use; find who has it with ${find}, or choose another port`];
    }
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return ['ADDRESS_NOT_AVAILABLE', 'this machine has no such address; listen on one of its own'];
    case 'EACCES':
    case 'EPERM':
      return ['NOT_PERMITTED', 'this user may not; choose a port above 1023, or give the process the right to'];
    default:
      return ['FAILED', error.message];
  }
}

/** The real one, where the options asked for port 0. */
export function portOf(server: Server, asked: number): number {
  const bound = server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : asked;
}

export function addressOf(socket: Socket): Address {
  return formatAddress(socket.remoteAddress ?? 'unknown', socket.remotePort ?? 0);
}
