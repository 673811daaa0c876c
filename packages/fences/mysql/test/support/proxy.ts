/** A TCP proxy in front of the server that drops a connection as soon as a statement has been handed on, so that its answer is lost. */

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Proxy {
  readonly port: number;
  /** From now on: what is sent with this text in it reaches the server, and its answer nobody. */
  loseAnswerTo(text: string): void;
}

export async function proxyTo(port: number): Promise<Proxy> {
  let losing: string | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let deaf = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (bytes) => {
      if (losing !== undefined && bytes.toString('latin1').includes(losing)) deaf = true;
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (deaf) client.destroy();
      else client.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, loseAnswerTo: (text) => (losing = text) };
}
