/**
 * The connections of a listener on which plain HTTP has come, and their requests: one of a connection is under way at a time, until its
 * answer has left; what is to be done waits for a turn of the event loop. Of too many connections the one goes that has been idle
 * longest, so that a health check always finds a place; while all of them are busy a new one is told to come again.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';

import type { Clock } from '../../clock.ts';
import { plain } from '../../http-rules.ts';
import type { HttpResponse } from '../../network.ts';
import { PacedTurns } from '../../paced-turns.ts';
import { respond } from './http-response.ts';
import type { HttpStream } from './http-stream.ts';

export const MAX_HTTP_CONNECTIONS = 32;

export interface HttpConnectionsDeps {
  readonly clock: Clock;
  /** Never rejects. */
  answer(request: IncomingMessage): HttpResponse | Promise<HttpResponse>;
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
    respond(request, response, plain(503, `refused: ${problem}`));
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
      if (this.#all.has(connection.stream)) this.#answer(exchange);
    });
  }

  #answer({ request, response }: Exchange): void {
    // A body is no part of a question; it would be read to its end behind the answer.
    if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined) {
      response.shouldKeepAlive = false;
    }
    const answer = this.#deps.answer(request);
    if (answer instanceof Promise) void answer.then((it) => this.#send(request, response, it));
    else this.#send(request, response, answer);
  }

  /** What cannot be sent, a header that is none say, ends its connection and nothing else. */
  #send(request: IncomingMessage, response: ServerResponse, answer: HttpResponse): void {
    try {
      respond(request, response, answer);
    } catch (error) {
      this.#deps.failed(error, request);
      response.destroy();
    }
  }
}
