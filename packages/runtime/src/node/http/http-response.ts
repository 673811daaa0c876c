/** Answers as they are written: on a connection that the HTTP server keeps, and on one that is to end. */

import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import type { Clock } from '../../clock.ts';
import { plain, SECURITY_HEADERS } from '../../network/http-rules.ts';
import type { Logger } from '../../logger.ts';
import { isStreamBody } from '../../network/http.ts';
import type { HttpRequest, HttpResponse, HttpStreamBody, HttpTextResponse } from '../../network/http.ts';

/** Requests that fail make a line in the log once in this time. */
const FAILURE_LOG_INTERVAL_MS = 1_000;

/** Undefined, or for a body that is made piece by piece what resolves when it has left, or the client is gone; rejects with what it throws. */
export function respond(
  { method }: IncomingMessage,
  response: ServerResponse,
  { status, contentType, headers, body }: HttpResponse,
): Promise<void> | undefined {
  const head = { ...SECURITY_HEADERS, ...headers, 'Content-Type': contentType };
  if (isStreamBody(body)) {
    response.writeHead(status, head);
    if (method !== 'HEAD') return sendStream(response, body);
    response.end();
    return undefined;
  }
  response.writeHead(status, { ...head, 'Content-Length': Buffer.byteLength(body) });
  response.end(method === 'HEAD' ? undefined : body);
  return undefined;
}

/** The next piece is asked for when the one before has left; and no more when nobody hears it. */
async function sendStream(response: ServerResponse, body: HttpStreamBody): Promise<void> {
  const iterator = body[Symbol.asyncIterator]();
  const gone = new Promise<undefined>((resolve) => {
    response.once('close', () => resolve(undefined));
  });
  response.flushHeaders();
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), gone]);
      if (next === undefined || response.destroyed) return;
      if (next.done === true) break;
      if (!response.write(next.value)) await Promise.race([drained(response), gone]);
    }
    response.end();
  } finally {
    // Whoever makes the pieces may wait for the next one to make: nothing waits for its end.
    void iterator.return?.().catch(() => {});
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve);
  });
}

/** The answer to what the HTTP server has not taken over, or not understood; the connection ends with it. */
export function refuse(stream: Duplex, { status, contentType, body }: HttpTextResponse): void {
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

  answer(error: unknown, request: Pick<HttpRequest, 'method' | 'target'>): HttpResponse {
    this.note(error, request);
    return plain(500, 'internal error; the log of the server has more');
  }

  note(error: unknown, { method, target }: Pick<HttpRequest, 'method' | 'target'>): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#loggedAtMs < FAILURE_LOG_INTERVAL_MS) this.#unlogged += 1;
    else {
      this.#logger.error({ err: error, method, target, unlogged: this.#unlogged }, 'an HTTP request failed');
      this.#loggedAtMs = nowMs;
      this.#unlogged = 0;
    }
  }
}
