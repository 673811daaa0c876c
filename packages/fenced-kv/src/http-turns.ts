/**
 * The order in which requests are answered: one of a connection at a time, the connections in turns, and between any two requests the
 * event loop looks at every socket, so that no flood keeps the others waiting. Bounds what waits, and what was answered and is not read;
 * beyond a bound the connection goes that takes the most.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import {
  MAX_UNREAD_BYTES,
  MAX_WAITING_REQUESTS,
  MAX_WAITING_REQUESTS_OF_CONNECTION,
  UNREAD_TIMEOUT_MS,
} from './limits.ts';

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
  readonly socket: Socket;
  readonly waiting: Exchange[];
  underWay: boolean;
  /** Nothing more is read of it until what waits has been answered. */
  held: boolean;
}

export class RequestTurns {
  readonly #deps: TurnDeps;
  readonly #limits: TurnLimits;
  readonly #lines = new Map<Socket, Line>();
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
    const { socket } = request;
    // The parser goes on with what a connection had sent before it was cut.
    if (socket.destroyed) return;
    const line = this.#lineOf(socket);
    line.waiting.push({ request, response });
    this.#waiting += 1;
    if (line.waiting.length === 1 && !line.underWay) this.#isReady(line);
    if (line.waiting.length >= this.#limits.maxWaitingOfConnection) {
      line.held = true;
      socket.pause();
    }
    if (this.#waiting > this.#limits.maxWaiting) this.#cutLongest();
  }

  #lineOf(socket: Socket): Line {
    const known = this.#lines.get(socket);
    if (known !== undefined) return known;
    const line: Line = { socket, waiting: [], underWay: false, held: false };
    this.#lines.set(socket, line);
    socket.once('close', () => this.#forget(line));
    return line;
  }

  #forget(line: Line): void {
    if (!this.#lines.delete(line.socket)) return;
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
    response.once('close', () => this.#ended(line));
    this.#deps.answer(request, response).then(
      () => {
        if (line.socket.writableLength > 0 && this.#lines.has(line.socket)) this.#owes(line);
      },
      () => line.socket.destroy(),
    );
  }

  #ended(line: Line): void {
    line.underWay = false;
    const wasRead = this.#debtors.delete(line);
    if (!this.#lines.has(line.socket)) return;
    // The next answer may take its time; where none follows, the HTTP server has set its own limit.
    if (wasRead && line.waiting.length > 0) line.socket.setTimeout(0);
    if (line.waiting.length > 0) this.#isReady(line);
    else if (line.held) {
      line.held = false;
      line.socket.resume();
    }
  }

  #owes(line: Line): void {
    this.#debtors.add(line);
    // A write that makes progress prolongs it. At the end of it the HTTP server closes the connection.
    line.socket.setTimeout(this.#limits.unreadTimeoutMs);
    let owed = 0;
    for (const { socket } of this.#debtors) owed += socket.writableLength;
    while (owed > this.#limits.maxUnreadBytes) {
      const largest = most(this.#debtors, ({ socket }) => socket.writableLength);
      if (largest === undefined) return;
      const bytes = largest.socket.writableLength;
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
    this.#deps.cut(reason, line.socket.remoteAddress ?? 'unknown', problem);
    line.socket.destroy();
    this.#forget(line);
  }
}

function most(lines: Iterable<Line>, measure: (line: Line) => number): Line | undefined {
  let found: Line | undefined;
  for (const line of lines) if (found === undefined || measure(line) > measure(found)) found = line;
  return found;
}
