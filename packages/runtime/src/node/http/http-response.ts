/** Answers as they are written: on a connection that the HTTP server keeps, and on one that is to end. */

import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import type { Clock } from '../../clock.ts';
import { plain, SECURITY_HEADERS } from '../../http-rules.ts';
import type { Logger } from '../../logger.ts';
import type { HttpRequest, HttpResponse } from '../../network.ts';

/** Requests that fail make a line in the log once in this time. */
const FAILURE_LOG_INTERVAL_MS = 1_000;

export function respond(
  { method }: IncomingMessage,
  response: ServerResponse,
  { status, contentType, body }: HttpResponse,
): void {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { ...SECURITY_HEADERS, 'Content-Type': contentType, 'Content-Length': length });
  response.end(method === 'HEAD' ? undefined : body);
}

/** The answer to what the HTTP server has not taken over, or not understood; the connection ends with it. */
export function refuse(stream: Duplex, { status, contentType, body }: HttpResponse): void {
  stream.on('error', () => stream.destroy());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}`),
    `Content-Type: ${contentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  stream.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => stream.destroy());
}

/** What the parser's error means for who sent the request. */
export function unreadable({ code }: NodeJS.ErrnoException): [status: number, message: string] {
  if (code === 'HPE_HEADER_OVERFLOW') return [431, 'the head of the request is too long'];
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'the request took too long to arrive'];
  return [400, 'this is no HTTP request'];
}

/** Requests whose handler failed: they are answered, nothing ends, and the log is not filled. */
export class HttpFailures {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #loggedAtMs = -Infinity;
  #unlogged = 0;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  answer(error: unknown, request: HttpRequest): HttpResponse {
    this.note(error, request);
    return plain(500, 'internal error; the log of the server has more');
  }

  note(error: unknown, { method, target }: HttpRequest): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#loggedAtMs < FAILURE_LOG_INTERVAL_MS) this.#unlogged += 1;
    else {
      this.#logger.error({ err: error, method, target, unlogged: this.#unlogged }, 'an HTTP request failed');
      this.#loggedAtMs = nowMs;
      this.#unlogged = 0;
    }
  }
}
