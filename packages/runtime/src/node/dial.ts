/** Dials a listener, and tells "nothing listens there" from "no answer". */

import { WebSocket } from 'ws';

import { formatAddress, parseAddress } from '../address.ts';
import { DialError } from '../network.ts';
import type { Connection, DialFailure, DialOptions } from '../network.ts';
import { NodeConnection } from './connection.ts';
import { wsOptions } from './ws-options.ts';

export async function dial({ address, timeoutMs, maxFrameBytes }: DialOptions): Promise<Connection> {
  const { host, port } = parseAddress(address);
  const webSocket = new WebSocket(`ws://${formatAddress(host, port)}/`, wsOptions(maxFrameBytes));
  return new Promise<Connection>((resolve, reject) => {
    const fail = (failure: DialFailure, message: string, cause?: unknown) => {
      clearTimeout(timeout);
      webSocket.terminate();
      reject(new DialError(failure, `cannot connect to ${address}: ${message}`, { cause }));
    };
    const timeout = setTimeout(() => fail('timeout', `no answer within ${timeoutMs} ms`), timeoutMs);
    const onError = (error: NodeJS.ErrnoException) =>
      fail(failureOf(error), error.message || String(error.code), error);
    webSocket.on('error', onError);
    webSocket.on('unexpected-response', (request, response) => {
      request.destroy();
      fail('failed', `it answered with HTTP status ${response.statusCode ?? 'unknown'}`);
    });
    webSocket.on('upgrade', ({ socket }) => {
      // Before the first frame can arrive.
      webSocket.once('open', () => {
        clearTimeout(timeout);
        const connection = new NodeConnection('client', webSocket, socket, { remoteAddress: address, maxFrameBytes });
        webSocket.off('error', onError);
        connection.holdUntilHandled();
        resolve(connection);
      });
    });
  });
}

function failureOf(error: NodeJS.ErrnoException): DialFailure {
  if (error.code === 'ECONNREFUSED') return 'refused';
  return error.code === 'ETIMEDOUT' ? 'timeout' : 'failed';
}
