/** Dials a port that listens for streams. */

import { connect } from 'node:net';

import { parseAddress } from '../../network/address.ts';
import type { ByteStream, StreamDialOptions } from '../../network/byte-stream.ts';
import { DialError } from '../../network/network.ts';
import { securityProblem } from '../../network/transport-security.ts';
import { failureOf } from '../websocket/dial.ts';
import { NodeByteStream } from './byte-stream.ts';

export async function dialStream(options: StreamDialOptions): Promise<ByteStream> {
  const { address, timeoutMs } = options;
  const failed = `cannot connect to ${address}`;
  const problem = securityProblem(options);
  if (problem !== undefined) throw new DialError('failed', `${failed}: ${problem}`);
  const { host, port } = parseAddress(address);
  return new Promise<ByteStream>((resolve, reject) => {
    const socket = connect({ host, port });
    const fail = (error: DialError): void => {
      clearTimeout(timeout);
      socket.destroy();
      reject(error);
    };
    const timeout = setTimeout(
      () => fail(new DialError('timeout', `${failed}: no answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const onError = (error: NodeJS.ErrnoException): void =>
      fail(new DialError(failureOf(error), `${failed}: ${error.message || String(error.code)}`, { cause: error }));
    socket.once('error', onError);
    socket.once('connect', () => {
      clearTimeout(timeout);
      socket.off('error', onError);
      resolve(new NodeByteStream(socket, address));
    });
  });
}
