/**
 * Which HTTP requests a listener answers at all, as plain data, for the real and the simulated network alike: a web page must
 * not reach a local ensemble, neither by a request of its own nor by a name that it points at a loopback address.
 */

import type { HttpRequest, HttpResponse, HttpTextResponse } from './http.ts';
import type { AllowedHosts, ListenerRefusal, ListenOptions } from './network.ts';

/** Of every answer: no browser guesses what it is, shows it inside a page, or keeps it. */
export const SECURITY_HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
} as const;

export interface RequestHead {
  readonly upgrade: boolean;
  readonly method: string;
  readonly hostHeader: string | undefined;
  readonly originHeader: string | undefined;
  /** `Sec-Fetch-Site`, which browsers send and no page can set. */
  readonly fetchSiteHeader: string | undefined;
}

export interface RequestRefusal {
  /** Undefined for what is worth no line in a log. */
  readonly reason: Extract<ListenerRefusal, 'host' | 'web-page'> | undefined;
  readonly response: HttpTextResponse;
}

/** Changes nothing, and browsers send them without asking. */
const DEFAULT_METHODS: readonly string[] = ['GET', 'HEAD'];

/** Undefined when the request may go on. */
export function refusalOf(
  head: RequestHead,
  { allowedHosts: allowed, httpMethods = DEFAULT_METHODS }: Pick<ListenOptions, 'allowedHosts' | 'httpMethods'>,
): RequestRefusal | undefined {
  const host = head.hostHeader === undefined ? undefined : hostWithoutPort(head.hostHeader);
  if (host === undefined) {
    return refusal('host', 'the request has no usable Host header');
  }
  if (allowed !== undefined && !isAllowed(host, allowed)) {
    const anyAddress = allowed.anyAddress ? ', or an IP address' : '';
    return refusal(
      'host',
      `this server does not answer for host "${host}"; use its address${anyAddress}, or start it with --allow-host ${host}`,
    );
  }
  if (head.originHeader !== undefined) {
    return refusal('web-page', 'requests and connections of web pages (with an Origin header) are not accepted');
  }
  if (isForeignSite(head.fetchSiteHeader)) {
    return refusal('web-page', 'requests that a page of another site made (by Sec-Fetch-Site) are not accepted');
  }
  if (!head.upgrade && !httpMethods.includes(head.method)) {
    const problem = `method ${head.method} is not allowed; use ${httpMethods.join(' or ')}`;
    return { reason: undefined, response: plain(405, problem) };
  }
  return undefined;
}

/** A person who typed the address, and a page that this server itself served. */
const OWN_SITES: readonly string[] = ['same-origin', 'none'];

/** Whether `Sec-Fetch-Site` says that a page of another site has made the request; programs send none. */
export function isForeignSite(fetchSite: string | undefined): boolean {
  return fetchSite !== undefined && !OWN_SITES.includes(fetchSite);
}

function refusal(reason: RequestRefusal['reason'], problem: string): RequestRefusal {
  return { reason, response: plain(403, `refused: ${problem}`) };
}

function isAllowed(host: string, { names, anyAddress }: AllowedHosts): boolean {
  return (anyAddress && isIpAddress(host)) || names.some((name) => normalised(name) === host);
}

/** Runs the listener's handler; throws or rejects with what it throws or rejects with. */
export function answer(handler: ListenOptions['http'], request: HttpRequest): HttpResponse | Promise<HttpResponse> {
  if (handler === undefined) return plain(426, 'this port speaks WebSocket; an upgrade is required');
  return handler(request);
}

export function plain(status: number, message: string): HttpTextResponse {
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

/** As `Host` has it, brackets removed. In no other form than the usual one: `127.1` is a name. */
function isIpAddress(host: string): boolean {
  if (host.includes(':')) return /^[0-9a-f:.]+$/.test(host);
  const parts = host.split('.');
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}
