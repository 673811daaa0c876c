import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { openUrl } from '../../../src/resource/adapters/url.ts';
import { HeldBackLink } from '../../../src/resource/holders/held-back-link.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/value`;
}

describe('an address as a resource', () => {
  it.each([
    [204, 'taken', 'taken'],
    [412, 'refused', 'refused'],
    [409, 'refused', 'refused'],
    [428, 'refused', 'refused'],
    [400, 'unknown', 'refused'],
    [500, 'unknown', 'unknown'],
  ])('has an answer %i to a write counted as %s, and as %s without a token', async (status, fenced, unfenced) => {
    const connection = openUrl({ url: await serve((_, response) => response.writeHead(status).end()) }, 1_000);
    expect((await connection.write('x', 7)).type).toBe(fenced);
    expect((await connection.writeUnfenced?.('x', undefined))?.type).toBe(unfenced);
    await connection.close();
  });

  it('is sent the token in a header and the value as the body', async () => {
    const seen: unknown[] = [];
    const url = await serve((request, response) => {
      const pieces: string[] = [];
      request.setEncoding('utf8').on('data', (piece: string) => pieces.push(piece));
      request.on('end', () => {
        const { method, headers } = request;
        seen.push([method, headers['fencing-token'], pieces.join('')]);
        response.end('abc');
      });
    });
    const connection = openUrl({ url, installUrl: url }, 1_000);
    await connection.write('text', 7);
    await connection.install?.(8);
    await connection.writeUnfenced?.('text', undefined);
    expect(await connection.read()).toBe('abc');
    expect(seen).toEqual([
      ['PUT', '7', 'text'],
      ['POST', '8', '{"token":8}'],
      ['PUT', undefined, 'text'],
      ['GET', undefined, ''],
    ]);
    await connection.close();
  });

  it('has no value where there is nothing, and an unknown outcome where nobody answers', async () => {
    const absent = openUrl({ url: await serve((_, response) => response.writeHead(404).end()) }, 1_000);
    expect(await absent.read()).toBeNull();
    await absent.close();
    const silent = openUrl({ url: await serve(() => undefined) }, 50);
    expect(await silent.write('x', 7)).toEqual({ type: 'unknown', message: 'no answer within 50 ms' });
    await silent.close();
  });
});

describe('a link that is held back', () => {
  it('delivers what was sent only when it is let through', async () => {
    const methods: string[] = [];
    const url = await serve((request, response) => {
      methods.push(request.method ?? '');
      response.end();
    });
    const link = await HeldBackLink.open(url);
    const connection = openUrl({ url }, 1_000, link.detour);
    await connection.read();
    const held = link.hold(1_000);
    const written = connection.write('late', 7);
    await held;
    const direct = openUrl({ url }, 1_000);
    await direct.read();
    expect(methods).toEqual(['GET', 'GET']);
    link.release();
    expect((await written).type).toBe('taken');
    expect(methods).toEqual(['GET', 'GET', 'PUT']);
    await Promise.all([connection.close(), direct.close()]);
    await link.close();
  });
});
