/**
 * Dials a listener, and separates "nothing listens there" from "no answer" and from "accepted, and nothing more". A process that dials one
 * address very often does so a few at a time, first come first served: a handshake costs both sides, and none is begun that would only
 * wait behind the others.
 */

import type { ClientRequestArgs, IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';

import { formatAddress, parseAddress } from '../../network/address.ts';
import { AGAIN_HEADER, DialError } from '../../network/network.ts';
import type { Address } from '../../network/address.ts';
import type { Connection, DialErrorOptions, DialFailure, DialOptions } from '../../network/network.ts';
import { securityProblem } from '../../network/transport-security.ts';
import { NodeConnection } from './connection.ts';
import { wsOptions } from './ws-options.ts';

/**
 * Where the system puts what it has read, for all dialled sockets of the process: it is copied before the next is read. Otherwise each read
 * gets as much memory of its own first, and gives nearly all of it back.
 */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024);

/** What is shown of the reason that a server gives for not taking the connection. */
const MAX_REASON_LENGTH = 300;

/** Dials of this process to one address that are under way; more wait for these. */
export const MAX_DIALS_UNDER_WAY = 32;

interface WaitingDial {
  readonly timeoutMs: number;
  readonly sinceMs: number;
  start(): void;
  fail(error: DialError): void;
}

/** The dials of this process to one address. */
interface DialLine {
  underWay: number;
  readonly waiting: WaitingDial[];
}

const lines = new Map<Address, DialLine>();

export async function dial(options: DialOptions): Promise<Connection> {
  const { address, timeoutMs } = options;
  const problem = securityProblem(options);
  if (problem !== undefined) throw new DialError('failed', `cannot connect to ${address}: ${problem}`);
  const line = lines.get(address) ?? { underWay: 0, waiting: [] };
  lines.set(address, line);
  if (line.underWay >= MAX_DIALS_UNDER_WAY) {
    await new Promise<void>((resolve, reject) => {
      line.waiting.push({ timeoutMs, sinceMs: performance.now(), start: resolve, fail: reject });
    });
  } else {
    line.underWay += 1;
  }
  try {
    return await dialNow(options);
  } catch (error) {
    if (error instanceof DialError) failWaiting(line, error.failure, address);
    throw error;
  } finally {
    const next = line.waiting.shift();
    if (next === undefined) line.underWay -= 1;
    else next.start();
    if (line.underWay === 0) lines.delete(address);
  }
}

/** What one dial has found out holds for those that have waited for it: they would only find the same. */
function failWaiting(line: DialLine, failure: DialFailure, address: Address): void {
  if (failure === 'failed') return;
  const nowMs = performance.now();
  const isOver = ({ sinceMs, timeoutMs }: WaitingDial): boolean =>
    failure === 'refused' || nowMs - sinceMs >= timeoutMs;
  const over = line.waiting.filter(isOver);
  if (over.length === 0) return;
  const rest = line.waiting.filter((each) => !isOver(each));
  line.waiting.splice(0, line.waiting.length, ...rest);
  const found = failure === 'refused' ? 'it has just refused another dial' : 'another dial got no answer either';
  for (const each of over) each.fail(new DialError(failure, `cannot connect to ${address}: ${found}`));
}

function dialNow({ address, timeoutMs, acceptedTimeoutMs, maxFrameBytes }: DialOptions): Promise<Connection> {
  const { host, port } = parseAddress(address);
  return new Promise<Connection>((resolve, reject) => {
    let timeout: NodeJS.Timeout;
    const fail = (failure: DialFailure, message: string, details: DialErrorOptions = {}) => {
      clearTimeout(timeout);
      webSocket.terminate();
      reject(new DialError(failure, `cannot connect to ${address}: ${message}`, details));
    };
    const onConnected = (): void => {
      if (acceptedTimeoutMs === undefined) return;
      clearTimeout(timeout);
      timeout = setTimeout(
        () => fail('timeout', `accepted, and no handshake within ${acceptedTimeoutMs} ms`, { accepted: true }),
        acceptedTimeoutMs,
      );
    };
    const webSocket = new WebSocket(`ws://${formatAddress(host, port)}/`, {
      ...wsOptions(maxFrameBytes),
      createConnection: socketOf,
      // The key 0 for the long frames, too (clientFrame says why it may be): neither end changes a byte then.
      generateMask: () => {},
      finishRequest: (request) => {
        request.once('socket', (socket) => socket.once('connect', onConnected));
        request.end();
      },
    });
    timeout = setTimeout(() => fail('timeout', `no answer within ${timeoutMs} ms`), timeoutMs);
    const onError = (error: NodeJS.ErrnoException) =>
      fail(failureOf(error), error.message || String(error.code), { cause: error });
    webSocket.on('error', onError);
    webSocket.on('unexpected-response', (request, response) => {
      const againInMs = Number(response.headers[AGAIN_HEADER] ?? 'none');
      if (againInMs >= 0) {
        request.destroy();
        fail('failed', `it has many dials to answer, and asks for this one in ${againInMs} ms`, { againInMs });
        return;
      }
      hearReason(response, (reason) => {
        request.destroy();
        const status = `it answered with HTTP status ${response.statusCode ?? 'unknown'}`;
        fail('failed', reason === '' ? status : `${status}: ${reason}`);
      });
    });
    webSocket.on('upgrade', ({ socket }) => {
      // Before the first frame can arrive.
      webSocket.once('open', () => {
        clearTimeout(timeout);
        const connection = new NodeConnection('client', webSocket, socket, { remoteAddress: address, maxFrameBytes });
        webSocket.off('error', onError);
        connection.holdUntilHandled();
        resolve(connection);
      });
    });
  });
}

function socketOf(options: ClientRequestArgs): Socket {
  const { host, port } = options;
  const socket: Socket = connect({
    host: host ?? 'localhost',
    port: Number(port),
    onread: {
      buffer: READ_BUFFER,
      callback: (length) => socket.push(copyOf(length)),
    },
  });
  return socket;
}

/** Of what was read last. */
function copyOf(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  READ_BUFFER.copy(bytes, 0, 0, length);
  return bytes;
}

/** Calls `heard` once, with the first line of a plain text; what else may be there, a proxy's page say, would help nobody. */
function hearReason(response: IncomingMessage, heard: (reason: string) => void): void {
  let text = '';
  let reported = false;
  const report = (): void => {
    if (reported) return;
    reported = true;
    const isPlain = response.headers['content-type']?.startsWith('text/plain') === true;
    const [line = ''] = isPlain ? text.slice(0, MAX_REASON_LENGTH).split('\n', 1) : [];
    heard(line.trim());
  };
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    if (text.length >= MAX_REASON_LENGTH) report();
  });
  response.on('end', report).on('error', report).on('close', report);
}

export function failureOf(error: NodeJS.ErrnoException): DialFailure {
  if (error.code === 'ECONNREFUSED') return 'refused';
  return error.code === 'ETIMEDOUT' ? 'timeout' : 'failed';
}
