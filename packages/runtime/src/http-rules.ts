/**
 * Which HTTP requests a listener answers at all, as plain data, for the real and the simulated network alike: a web page must
 * not reach a local ensemble, neither by a request of its own nor by a name that it points at a loopback address.
 */

import type { HttpRequest, HttpResponse, ListenOptions } from './network.ts';

export interface RequestHead {
  readonly upgrade: boolean;
  readonly method: string;
  readonly hostHeader: string | undefined;
  readonly originHeader: string | undefined;
}

/** The answer that refuses the request; undefined when it may go on. */
export function refusalOf(head: RequestHead, allowedHosts: readonly string[] | undefined): HttpResponse | undefined {
  const host = head.hostHeader === undefined ? undefined : hostWithoutPort(head.hostHeader);
  if (host === undefined) {
    return plain(403, 'refused: the request has no usable Host header');
  }
  if (allowedHosts !== undefined && !allowedHosts.some((allowed) => normalised(allowed) === host)) {
    return plain(
      403,
      `refused: this server does not answer for host "${host}"; add it to the allowed hosts if it should`,
    );
  }
  if (head.upgrade && head.originHeader !== undefined) {
    return plain(403, 'refused: WebSocket connections from web pages (with an Origin header) are not accepted');
  }
  if (!head.upgrade && head.method !== 'GET' && head.method !== 'HEAD') {
    return plain(405, `method ${head.method} is not allowed; use GET or HEAD`);
  }
  return undefined;
}

/** Runs the listener's handler; rejects with what it rejects with. */
export async function answer(handler: ListenOptions['http'], request: HttpRequest): Promise<HttpResponse> {
  if (handler === undefined) return plain(426, 'this port speaks WebSocket; an upgrade is required');
  return handler(request);
}

export function plain(status: number, message: string): HttpResponse {
  return { status, contentType: 'text/plain; charset=utf-8', body: `${message}\n` };
}

function hostWithoutPort(header: string): string | undefined {
  const match = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]/\s@]+)(?::\d{1,5})?$/.exec(header.trim());
  return match?.[1] === undefined ? undefined : normalised(match[1]);
}

const normalised = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
