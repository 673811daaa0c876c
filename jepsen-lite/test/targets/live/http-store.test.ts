import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { HttpStore, refusalOf } from '../../../src/targets/live/clients/http-store.ts';
import { freePorts } from '../../../src/targets/live/network/free-ports.ts';
import { UnansweredError, UnreachableError } from '../../../src/workloads/store.ts';

const PUT = { op: 'put', bucket: 'b', key: 'k', value: '7:1', token: 7 } as const;
const GET = { op: 'get', bucket: 'b', key: 'k', token: 7 } as const;

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function storeAt(server: Server): Promise<HttpStore> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new HttpStore(`127.0.0.1:${(server.address() as AddressInfo).port}`);
}

const answering = async (listener: RequestListener): Promise<HttpStore> => await storeAt(createServer(listener));

describe('a call of the store', () => {
  it('that nobody listens to has never left', async () => {
    const [port] = await freePorts(1);
    await expect(new HttpStore(`127.0.0.1:${port}`).call(PUT)).rejects.toBeInstanceOf(UnreachableError);
  });

  it('whose connection is reset when it was made may have been carried out', async () => {
    const store = await storeAt(createTcpServer((socket) => socket.on('data', () => socket.resetAndDestroy())));
    await expect(store.call(PUT)).rejects.toBeInstanceOf(UnansweredError);
    store.close();
  });

  it('carries its token and its value, and no token where none is given', async () => {
    const seen: unknown[] = [];
    const store = await answering((request, response) => {
      seen.push([request.method, request.url, request.headers['fencing-token']]);
      response.writeHead(204).end();
    });
    expect(await store.call(PUT)).toEqual({ ok: true });
    await store.call({ op: 'put', bucket: 'unfenced', key: 'a b', value: '1' });
    expect(seen).toEqual([
      ['PUT', '/v1/buckets/b/keys/k', '7'],
      ['PUT', '/v1/buckets/unfenced/keys/a%20b', undefined],
    ]);
    store.close();
  });

  it('finds nothing under a key that is not there', async () => {
    const store = await answering((_request, response) => {
      response.writeHead(404).end(JSON.stringify({ code: 'KEY_NOT_FOUND', message: 'no key k' }));
    });
    expect(await store.call(GET)).toEqual({ ok: true, value: null });
    store.close();
  });
});

describe('a refusal of the store', () => {
  it('for a stale token tells the highest one, and changed nothing', () => {
    const body = JSON.stringify({ code: 'STALE_TOKEN', presented: 7, highest: 9 });
    expect(refusalOf(PUT, 412, body)).toEqual({ ok: false, code: 'STALE_TOKEN', highest: 9, indeterminate: false });
  });

  it('that only says that something went wrong may hide a write that was done', () => {
    expect(refusalOf(PUT, 500, 'oops')).toEqual({ ok: false, code: 'HTTP_500', indeterminate: true });
    expect(refusalOf(GET, 500, 'oops')).toEqual({ ok: false, code: 'HTTP_500', indeterminate: false });
  });
});
