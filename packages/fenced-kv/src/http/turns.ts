/**
 * The order in which requests are answered: one of a connection at a time, the connections in turns, and between any two requests the
 * event loop looks at every socket, so that no flood keeps the others waiting. What is read meanwhile is parsed a little at a time
 * (HttpStream). Bounds what waits, and what was answered and is not read;
 * beyond a bound the connection goes that takes the most.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import type { HttpStream } from '@holdfast/runtime/node';

import {
  MAX_UNREAD_BYTES,
  MAX_WAITING_REQUESTS,
  MAX_WAITING_REQUESTS_OF_CONNECTION,
  UNREAD_TIMEOUT_MS,
} from '../limits.ts';

export interface TurnLimits {
  readonly maxWaitingOfConnection: number;
  readonly maxWaiting: number;
  readonly maxUnreadBytes: number;
  readonly unreadTimeoutMs: number;
}

const LIMITS: TurnLimits = {
  maxWaitingOfConnection: MAX_WAITING_REQUESTS_OF_CONNECTION,
  maxWaiting: MAX_WAITING_REQUESTS,
  maxUnreadBytes: MAX_UNREAD_BYTES,
  unreadTimeoutMs: UNREAD_TIMEOUT_MS,
};

export interface TurnDeps {
  /** Resolves when the answer is written, whether or not anybody reads it; the connection of one that rejects is closed. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** A connection was closed for what it took. */
  cut(reason: 'too-many-waiting' | 'unread', remoteAddress: string, problem: string): void;
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Line {
  readonly stream: HttpStream;
  readonly waiting: Exchange[];
  underWay: boolean;
  /** Nothing more is read of it until the last that waits has begun. */
  held: boolean;
}

export class RequestTurns {
  readonly #deps: TurnDeps;
  readonly #limits: TurnLimits;
  readonly #lines = new Map<HttpStream, Line>();
  /** Those with a request that may begin, in the order of their turns. */
  #ready: Line[] = [];
  /** Answered, and not read to the end. */
  readonly #debtors = new Set<Line>();
  #waiting = 0;
  #asked = false;

  constructor(deps: TurnDeps, limits: Partial<TurnLimits> = {}) {
    this.#deps = deps;
    this.#limits = { ...LIMITS, ...limits };
  }

  request(request: IncomingMessage, response: ServerResponse): void {
    const stream = streamOf(request);
    // The parser goes on with the piece in which a connection was cut.
    if (stream.destroyed) return;
    // Longer ones are refused for their length; with chunks there is none.
    const bodyBytes = Number(request.headers['content-length'] ?? 0);
    if (Number.isSafeInteger(bodyBytes)) stream.expectBody(bodyBytes);
    const line = this.#lineOf(stream);
    line.waiting.push({ request, response });
    this.#waiting += 1;
    if (line.waiting.length === 1 && !line.underWay) this.#isReady(line);
    if (line.waiting.length >= this.#limits.maxWaitingOfConnection) {
      line.held = true;
      stream.hold();
    }
    if (this.#waiting > this.#limits.maxWaiting) this.#cutLongest();
  }

  #lineOf(stream: HttpStream): Line {
    const known = this.#lines.get(stream);
    if (known !== undefined) return known;
    const line: Line = { stream, waiting: [], underWay: false, held: false };
    this.#lines.set(stream, line);
    stream.once('close', () => this.#forget(line));
    return line;
  }

  #forget(line: Line): void {
    if (!this.#lines.delete(line.stream)) return;
    this.#debtors.delete(line);
    this.#waiting -= line.waiting.length;
    line.waiting.length = 0;
  }

  #isReady(line: Line): void {
    this.#ready.push(line);
    this.#askForTurn();
  }

  /** One request a turn of the loop: what it does and what follows from it at once is done before the next one begins. */
  #askForTurn(): void {
    if (this.#asked || this.#ready.length === 0) return;
    this.#asked = true;
    setImmediate(() => {
      this.#asked = false;
      const line = this.#ready.shift();
      const exchange = line?.waiting.shift();
      if (line !== undefined && exchange !== undefined) {
        this.#waiting -= 1;
        this.#begin(line, exchange);
      }
      this.#askForTurn();
    });
  }

  #begin(line: Line, { request, response }: Exchange): void {
    line.underWay = true;
    // The last one may be waiting for the rest of its body.
    if (line.held && line.waiting.length === 0) {
      line.held = false;
      line.stream.goOn();
    }
    response.once('close', () => this.#ended(line));
    this.#deps.answer(request, response).then(
      () => {
        if (line.stream.unreadBytes > 0 && this.#lines.has(line.stream)) this.#owes(line);
      },
      () => line.stream.destroy(),
    );
  }

  #ended(line: Line): void {
    line.underWay = false;
    const wasRead = this.#debtors.delete(line);
    if (!this.#lines.has(line.stream)) return;
    // The next answer may take its time; where none follows, the HTTP server has set its own limit.
    if (wasRead && line.waiting.length > 0) line.stream.setTimeout(0);
    if (line.waiting.length > 0) this.#isReady(line);
  }

  #owes(line: Line): void {
    this.#debtors.add(line);
    // A write that makes progress prolongs it. At the end of it the HTTP server closes the connection.
    line.stream.setTimeout(this.#limits.unreadTimeoutMs);
    let owed = 0;
    for (const { stream } of this.#debtors) owed += stream.unreadBytes;
    while (owed > this.#limits.maxUnreadBytes) {
      const largest = most(this.#debtors, ({ stream }) => stream.unreadBytes);
      if (largest === undefined) return;
      const bytes = largest.stream.unreadBytes;
      owed -= bytes;
      this.#cut(largest, 'unread', `${bytes} bytes of answers are not read, and all clients together leave too many`);
    }
  }

  #cutLongest(): void {
    const longest = most(this.#lines.values(), ({ waiting }) => waiting.length);
    if (longest === undefined) return;
    const { length } = longest.waiting;
    this.#cut(longest, 'too-many-waiting', `${length} requests of the connection wait, and too many of all clients`);
  }

  #cut(line: Line, reason: 'too-many-waiting' | 'unread', problem: string): void {
    this.#deps.cut(reason, line.stream.socket.remoteAddress ?? 'unknown', problem);
    line.stream.destroy();
    this.#forget(line);
  }
}

/** What the listener gave the HTTP server as the socket of this request. */
function streamOf(request: IncomingMessage): HttpStream {
  return request.socket as Duplex as HttpStream;
}

function most(lines: Iterable<Line>, measure: (line: Line) => number): Line | undefined {
  let found: Line | undefined;
  for (const line of lines) if (found === undefined || measure(line) > measure(found)) found = line;
  return found;
}
