/** HTTP requests and answers on a listening address, as plain data, so that handlers run without sockets. */

import type { Address } from './address.ts';
import type { PeerIdentity } from './transport-security.ts';

export interface HttpRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  /** By their names in lower case; several of one name as one value, with commas. */
  readonly headers: ReadonlyMap<string, string>;
  /** Whole; empty where {@link HttpOptions.maxHttpBodyBytes} allows none. */
  readonly body: Uint8Array;
  readonly remoteAddress: Address;
  /** Who asks, as the transport has shown it; undefined without TLS, and for a client without a certificate. */
  readonly peerIdentity: PeerIdentity | undefined;
}

/**
 * Written piece by piece as it is made, each piece when the one before has left. Its connection is closed when nothing moves for ten
 * seconds: what has nothing to say sends something empty. When a piece finds the client gone the
 * iterator is told by its `return`.
 */
export type HttpStreamBody = AsyncIterable<string | Uint8Array>;

export interface HttpResponse {
  readonly status: number;
  readonly contentType: string;
  /** Further ones. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | HttpStreamBody;
}

/** An answer whose body is a text. */
export interface HttpTextResponse extends HttpResponse {
  readonly body: string;
}

export interface HttpOptions {
  /** Answers plain HTTP on the same port; without it every such request gets 426. */
  http?(request: HttpRequest): HttpResponse | Promise<HttpResponse>;
  /** Other methods are refused with 405. @default GET and HEAD */
  readonly httpMethods?: readonly string[];
  /** A request with a longer body gets 413. @default 0: bodies are not read, and their connections end with the answer */
  readonly maxHttpBodyBytes?: number;
}

export function isStreamBody(body: HttpResponse['body']): body is HttpStreamBody {
  return typeof body !== 'string' && Symbol.asyncIterator in body;
}
