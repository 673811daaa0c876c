import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { PutConnection } from '../../src/fences/stores/put-connection.ts';

let server: Server;
let url: string;
const heard: string[] = [];

beforeEach(async () => {
  heard.length = 0;
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url: path, headers } = request;
      heard.push(`${method} ${path} ${String(headers['fencing-token'])} ${Buffer.concat(chunks).toString()}`);
      if (path === '/refused') {
        response.writeHead(412, { 'content-length': 5 });
        response.write('st', () => response.end('ale'));
      } else if (path === '/gone') request.socket.destroy();
      else response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe('a connection that sends PUTs', () => {
  it('sends one after the other, with its headers and the body', async () => {
    const connection = await PutConnection.open(url, { 'fencing-token': '5' });
    await connection.put('/a', Buffer.from('one'));
    await connection.put('/b', Buffer.from('two'));
    connection.close();
    expect(heard).toEqual(['PUT /a 5 one', 'PUT /b 5 two']);
  });

  it('rejects with the whole answer where that is another than 204, and goes on', async () => {
    const connection = await PutConnection.open(url);
    await expect(connection.put('/refused', Buffer.from('x'))).rejects.toThrow('412 Precondition Failed: stale');
    await connection.put('/a', Buffer.from('one'));
    connection.close();
  });

  it('rejects where the server goes away', async () => {
    const connection = await PutConnection.open(url);
    await expect(connection.put('/gone', Buffer.from('x'))).rejects.toThrow('closed the connection');
    connection.close();
  });
});
