/** Requests to the HTTP interface without a socket, as its tests make them. */

import { silentLogger } from '@holdfast/runtime';

import type { FencedStore } from '../../src/fenced-store.ts';
import { hostPolicy } from '../../src/http/guard.ts';
import { createHttpHandler } from '../../src/http/handler.ts';

const OCTETS = { 'content-type': 'application/octet-stream' };
export const JSON_TYPE = { 'content-type': 'application/json' };
export const KEY = '/v1/buckets/accounts/keys/42';

type HeaderFields = Readonly<Record<string, string>>;

export interface HttpCalls {
  send(
    method: string,
    path: string,
    headers?: HeaderFields,
    body?: string | Uint8Array<ArrayBuffer>,
  ): Promise<Response>;
  /** Writes a key, under a token where one is given. */
  put(path: string, value: string, token?: number | string, headers?: HeaderFields): Promise<Response>;
  /** In the bucket `accounts`. */
  install(token: unknown): Promise<Response>;
  /** In the bucket `accounts`. @default token 57 */
  batch(body: unknown, token?: number): Promise<Response>;
}

export function callsOf(store: FencedStore): HttpCalls {
  const handler = createHttpHandler({ store, hosts: hostPolicy('127.0.0.1') }, { logger: silentLogger });
  const send: HttpCalls['send'] = async (method, path, headers = {}, body) =>
    await handler(new Request(`http://127.0.0.1:7400${path}`, { method, headers, body: body ?? null }));
  return {
    send,
    async put(path, value, token, headers = {}) {
      const fencing: HeaderFields = token === undefined ? {} : { 'fencing-token': String(token) };
      return await send('PUT', path, { ...OCTETS, ...fencing, ...headers }, value);
    },
    install: async (token) => await send('POST', '/v1/buckets/accounts/fence', JSON_TYPE, JSON.stringify({ token })),
    async batch(body, token = 57) {
      const headers = { ...JSON_TYPE, 'fencing-token': String(token) };
      return await send('POST', '/v1/buckets/accounts/batch', headers, JSON.stringify(body));
    },
  };
}

/** Status and body of an answer that carries JSON. */
export async function answer(response: Response): Promise<[number, Record<string, unknown>]> {
  return [response.status, (await response.json()) as Record<string, unknown>];
}
