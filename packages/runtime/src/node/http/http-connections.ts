/**
 * The connections of a listener on which plain HTTP has come, and their requests: one of a connection is under way at a time, until its
 * answer has left; what is to be done waits for a turn of the event loop. Of too many connections the one goes that has been idle
 * longest, so that a health check always finds a place; while all of them are busy a new one is asked to come again.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Clock } from '../../clock.ts';
import { formatAddress } from '../../network/address.ts';
import { plain } from '../../network/http-rules.ts';
import { isStreamBody, type HttpRequest, type HttpResponse } from '../../network/http.ts';
import { PacedTurns } from '../../paced-turns.ts';
import { hasBody, readBody, requestOf } from './http-request.ts';
import { respond } from './http-response.ts';
import type { HttpStream } from './http-stream.ts';

export const MAX_HTTP_CONNECTIONS = 32;
/** Answers under way that are made piece by piece, for as long as anybody listens. More are refused, so that others find a place. */
export const MAX_HTTP_STREAMS = 16;

export interface HttpConnectionsDeps {
  readonly clock: Clock;
  /** Longer bodies get 413; 0: bodies are no part of a request, and are not read. */
  readonly maxBodyBytes: number;
  /** Why a request is not answered, whatever is in its body; undefined when it is. */
  refusal(request: IncomingMessage): HttpResponse | undefined;
  /** Never rejects. */
  answer(request: HttpRequest): HttpResponse | Promise<HttpResponse>;
  /** The answer could not be sent. */
  failed(error: unknown, request: IncomingMessage): void;
  /** A new connection has found no place. */
  busy(remoteAddress: string, problem: string): void;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface HttpConnection {
  readonly stream: HttpStream;
  readonly address: string | undefined;
  readonly waiting: Exchange[];
  underWay: boolean;
}

export class HttpConnections {
  readonly #deps: HttpConnectionsDeps;
  readonly #turns: PacedTurns;
  readonly #all = new Map<HttpStream, HttpConnection>();
  /** Idle for longest first. */
  readonly #idle = new Set<HttpConnection>();
  #streams = 0;

  constructor(deps: HttpConnectionsDeps) {
    this.#deps = deps;
    this.#turns = new PacedTurns(deps.clock);
  }

  get size(): number {
    return this.#all.size;
  }

  /** For a stream's next piece: soon while it may still become a WebSocket, else when plain HTTP has its turn. */
  later(stream: HttpStream, work: () => void): void {
    if (this.#all.has(stream)) this.#turns.add(work);
    else this.#deps.clock.afterPoll(work);
  }

  request(stream: HttpStream, request: IncomingMessage, response: ServerResponse): void {
    stream.hold();
    const connection = this.#all.get(stream) ?? this.#admit(stream);
    if (connection === undefined) return this.#refuse(stream, request, response);
    this.#idle.delete(connection);
    connection.waiting.push({ request, response });
    if (!connection.underWay) this.#next(connection);
  }

  /** False while a request of it waits for its answer. */
  idle(stream: HttpStream): boolean {
    const connection = this.#all.get(stream);
    return connection === undefined || this.#idle.has(connection);
  }

  stop(): void {
    this.#turns.stop();
  }

  #admit(stream: HttpStream): HttpConnection | undefined {
    if (stream.destroyed) return undefined;
    if (this.#all.size >= MAX_HTTP_CONNECTIONS) {
      const victim = this.#givesWay(stream);
      if (victim === undefined) return undefined;
      this.#forget(victim);
      victim.stream.destroy();
    }
    const connection: HttpConnection = { stream, address: stream.socket.remoteAddress, waiting: [], underWay: false };
    this.#all.set(stream, connection);
    stream.once('close', () => this.#forget(connection));
    return connection;
  }

  /**
   * Who leaves for a new one: the longest idle; or who asks for more before it is answered, or does not read; or one of an address that
   * has more connections than the new one's.
   */
  #givesWay(newcomer: HttpStream): HttpConnection | undefined {
    const [longestIdle] = this.#idle;
    if (longestIdle !== undefined) return longestIdle;
    const all = [...this.#all.values()];
    const greedy = all.toSorted((a, b) => b.waiting.length - a.waiting.length)[0];
    if (greedy !== undefined && greedy.waiting.length > 0) return greedy;
    const deaf = all.find(({ stream }) => stream.socket.writableLength > 0);
    if (deaf !== undefined) return deaf;
    const ofAddress = new Map<string | undefined, number>();
    for (const { address } of all) ofAddress.set(address, (ofAddress.get(address) ?? 0) + 1);
    const own = ofAddress.get(newcomer.socket.remoteAddress) ?? 0;
    return all.find(({ address }) => (ofAddress.get(address) ?? 0) > own + 1);
  }

  #forget(connection: HttpConnection): void {
    this.#all.delete(connection.stream);
    this.#idle.delete(connection);
    connection.waiting.length = 0;
  }

  #refuse(stream: HttpStream, request: IncomingMessage, response: ServerResponse): void {
    // What came in the same piece is behind an answer that closes the connection.
    if (stream.destroyed || stream.writableEnded || response.socket === null) return;
    const problem = `${MAX_HTTP_CONNECTIONS} HTTP connections are open, and each has a request under way; ask again`;
    this.#deps.busy(stream.socket.remoteAddress ?? 'unknown', problem);
    response.shouldKeepAlive = false;
    void respond(request, response, plain(503, `refused: ${problem}`));
  }

  #next(connection: HttpConnection): void {
    const exchange = connection.waiting.shift();
    if (exchange === undefined) {
      connection.underWay = false;
      if (!this.#all.has(connection.stream)) return;
      this.#idle.add(connection);
      connection.stream.goOn();
      return;
    }
    connection.underWay = true;
    exchange.response.once('close', () => this.#next(connection));
    this.#turns.add(() => {
      if (this.#all.has(connection.stream)) this.#answer(connection, exchange);
    });
  }

  #answer({ stream }: HttpConnection, { request, response }: Exchange): void {
    const withBody = hasBody(request);
    const refusal = this.#deps.refusal(request);
    if (refusal === undefined && withBody && this.#deps.maxBodyBytes > 0) {
      void this.#answerWithBody(stream, { request, response });
      return;
    }
    // A body that nobody reads would be read to its end behind the answer.
    if (withBody) response.shouldKeepAlive = false;
    this.#sendSoon({ request, response }, refusal ?? this.#deps.answer(requestOf(request, addressOf(stream))));
  }

  async #answerWithBody(stream: HttpStream, exchange: Exchange): Promise<void> {
    const { request, response } = exchange;
    const { maxBodyBytes } = this.#deps;
    stream.expectBody(Number(request.headers['content-length'] ?? 0));
    stream.goOn();
    const body = await readBody(request, maxBodyBytes);
    if (response.destroyed) return;
    stream.hold();
    if (body === undefined) {
      response.shouldKeepAlive = false;
      this.#send(exchange, plain(413, `the body of a request has at most ${maxBodyBytes} bytes`));
    } else {
      this.#sendSoon(exchange, this.#deps.answer(requestOf(request, addressOf(stream), body)));
    }
  }

  #sendSoon(exchange: Exchange, answer: HttpResponse | Promise<HttpResponse>): void {
    if (answer instanceof Promise) void answer.then((it) => this.#send(exchange, it));
    else this.#send(exchange, answer);
  }

  /** What cannot be sent, a header that is none say, ends its connection and nothing else. */
  #send({ request, response }: Exchange, answer: HttpResponse): void {
    const failed = (error: unknown): void => {
      this.#deps.failed(error, request);
      response.destroy();
    };
    const streams = isStreamBody(answer.body);
    if (streams && this.#streams >= MAX_HTTP_STREAMS) {
      const problem = `${MAX_HTTP_STREAMS} answers that do not end are under way; ask again`;
      this.#send({ request, response }, plain(503, `refused: ${problem}`));
      return;
    }
    try {
      const sending = respond(request, response, answer);
      if (sending === undefined) return;
      this.#streams += 1;
      response.once('close', () => (this.#streams -= 1));
      sending.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

function addressOf({ socket }: HttpStream): string {
  return formatAddress(socket.remoteAddress ?? 'unknown', socket.remotePort ?? 0);
}
