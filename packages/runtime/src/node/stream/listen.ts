/** A listening port for streams of bytes. */

import { createServer } from 'node:net';
import type { Socket } from 'node:net';

import { formatAddress, parseAddress } from '../../network/address.ts';
import type { StreamListenOptions } from '../../network/byte-stream.ts';
import { ListenError } from '../../network/network.ts';
import type { Address } from '../../network/address.ts';
import type { Listener, ListenerRefusal } from '../../network/network.ts';
import { RefusalLog } from '../../network/refusal-log.ts';
import { securityProblem } from '../../network/transport-security.ts';
import type { Logger } from '../../logger.ts';
import { addressOf, bind, portOf } from '../bind.ts';
import { nodeClock } from '../clock.ts';
import { SocketLimits } from '../socket-limits.ts';
import { NodeByteStream } from './byte-stream.ts';

export async function listenForStreams(options: StreamListenOptions, logger: Logger): Promise<Listener> {
  const { address } = options;
  const problem = securityProblem(options);
  if (problem !== undefined) throw new ListenError('FAILED', `cannot listen on ${address}: ${problem}`);
  const { host, port } = parseAddress(address);
  const log = new RefusalLog('closed a stream', { clock: nodeClock(), logger });
  const refusals = new Map<ListenerRefusal, number>();
  const refused = (reason: ListenerRefusal, remoteAddress: Address, why: string): void => {
    refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
    log.refused(reason, remoteAddress, why, { address });
  };
  const limits = new SocketLimits(options, { refused });
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    limits.accepted(socket);
    if (socket.destroyed) return;
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    options.onStream(new NodeByteStream(socket, addressOf(socket)));
  });
  await bind(server, host, port, address);
  server.on('error', (error) => logger.error({ err: error, address }, 'a stream was not accepted'));
  return {
    address: formatAddress(host, portOf(server, port)),
    get load() {
      return { sockets: limits.sockets, waiting: 0, unfinishedBytes: 0, refused: refusals };
    },
    close: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      for (const socket of open) socket.destroy();
      await closed;
      log.stop();
    },
  };
}
