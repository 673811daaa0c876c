/** What a handler is given of a request: its head, and its body when the listener takes bodies. */

import type { IncomingMessage } from 'node:http';

import type { HttpRequest } from '../../network/http.ts';

const NO_BODY = new Uint8Array();

/** Whether more bytes belong to the request than its head. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0;
}

/** Undefined when it is longer than that, or does not arrive to its end. Nothing more of it is read then. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<Uint8Array | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (body: Uint8Array | undefined): void => {
      request.pause();
      request.off('data', onData);
      resolve(body);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > maxBytes) end(undefined);
      else chunks.push(chunk);
    };
    request.on('data', onData);
    request.once('end', () => end(new Uint8Array(Buffer.concat(chunks))));
    request.once('close', () => end(undefined));
    request.once('error', () => end(undefined));
  });
}

export function requestOf(request: IncomingMessage, remoteAddress: string, body: Uint8Array = NO_BODY): HttpRequest {
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  const { method = '', url = '/' } = request;
  return { method, target: url, headers, body, remoteAddress, peerIdentity: undefined };
}
