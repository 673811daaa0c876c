/**
 * A client that belongs to nobody: with a session of its own it sends each request several times, those that were answered again, and
 * at last some without a number, which ends its connection. None of these may come into the log.
 */

import {
  CommandType,
  PROTOCOL_VERSION,
  decodeServerFrame,
  encodeAttachRequest,
  encodeClientFrame,
  encodeCommand,
  type ClientMessage,
  type ServerMessage,
} from '@holdfast/protocol';
import type { Connection, Runtime } from '@holdfast/runtime';
import type { Ports } from './ports.ts';

const DIAL_TIMEOUT_MS = 1_000;
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
const SECRET_BYTES = 16;
const SESSION_TIMEOUT_MS = 2_000;
const MAX_REQUESTS = 4;
const NO_NUMBER = 0;
/** Fails, and so changes nothing. */
const REQUEST = encodeCommand({ type: 'delete', path: '/of-nobody', version: -1 });

export interface ReplayerEvents {
  /** A request leaves for the first time, or because the server has asked for it again: one more entry may hold it. */
  sending(session: number, number: number): void;
  replayed(requests: number): void;
  /** The server has closed the connection after a request without a number. */
  dropped(): void;
}

export function replay(
  runtime: Runtime,
  ports: Ports,
  server: number,
  events: ReplayerEvents,
  timeoutMs: number = DIAL_TIMEOUT_MS,
): void {
  runtime.network.dial({ address: ports.clientAddress(server), timeoutMs, maxFrameBytes: MAX_FRAME_BYTES }).then(
    (connection) => new Replayer(runtime, ports.clusterId, connection, events).begin(),
    () => {},
  );
}

class Replayer {
  readonly #random: Runtime['random'];
  readonly #clusterId: string;
  readonly #connection: Connection;
  readonly #events: ReplayerEvents;
  #session = 0;
  /** The number of the request that is not answered. */
  #number = 0;
  #over = false;

  constructor({ random }: Runtime, clusterId: string, connection: Connection, events: ReplayerEvents) {
    this.#random = random;
    this.#clusterId = clusterId;
    this.#connection = connection;
    this.#events = events;
  }

  begin(): void {
    this.#connection.setHandler({
      frame: (frame) => {
        for (const message of decodeServerFrame(frame)) this.#received(message);
      },
      close: () => {
        if (this.#over) this.#events.dropped();
      },
    });
    this.#send({ type: 'hello', version: PROTOCOL_VERSION, features: 0, clusterId: this.#clusterId, required: 0 });
  }

  #received(message: ServerMessage): void {
    if (message.type === 'welcome') this.#attach();
    else if (message.type === 'attached' && message.reply.type === 'attached') {
      this.#session = message.reply.session;
      this.#request([]);
    } else if (message.type === 'reply' && message.number === this.#number) this.#answered();
    else if (message.type === 'resend' && message.from === this.#number) this.#sendCurrent([]);
  }

  #attach(): void {
    const secret = this.#random.bytes(SECRET_BYTES);
    const request = { secret, session: 0, timeoutMs: SESSION_TIMEOUT_MS, label: 'replayer' };
    this.#send({ type: 'attach', id: 1, payload: encodeAttachRequest(request) });
  }

  #answered(): void {
    const copies = [this.#number, 1 + this.#random.integer(this.#number)];
    if (this.#number < MAX_REQUESTS && this.#random.integer(MAX_REQUESTS) > 0) {
      this.#request(copies);
      return;
    }
    this.#over = true;
    this.#number = 0;
    this.#sendAll([...copies, NO_NUMBER, NO_NUMBER]);
    this.#events.replayed(copies.length + 2);
  }

  /** The next one, behind copies of those before it. */
  #request(copies: readonly number[]): void {
    this.#number += 1;
    this.#sendCurrent(copies);
  }

  /** A copy in the same frame is read before anything can have become of the first. */
  #sendCurrent(copies: readonly number[]): void {
    this.#events.sending(this.#session, this.#number);
    this.#sendAll([...copies, this.#number, this.#number]);
    this.#events.replayed(copies.length + 1);
  }

  #sendAll(numbers: readonly number[]): void {
    const common = { type: 'request', ackedUpTo: 0, command: CommandType.delete, payload: REQUEST } as const;
    this.#send(...numbers.map((number) => ({ ...common, number })));
  }

  #send(...messages: readonly ClientMessage[]): void {
    this.#connection.send(encodeClientFrame(messages));
  }
}
