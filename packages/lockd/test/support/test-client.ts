/** A client at the level of protocol messages, over a connection that is only a pair of callbacks. */

import {
  CommandType,
  PROTOCOL_VERSION,
  decodeServerFrame,
  encodeClientFrame,
  encodeAttachRequest,
  encodeCommand,
  type AttachRequest,
  type ClientMessage,
  type Command,
  type Consistency,
  type FeatureSet,
  type Query,
  type Reply,
  type ServerMessage,
} from '@holdfast/protocol';
import type { Connection, ConnectionHandler } from '@holdfast/runtime';
import type { ManualClock } from './manual-clock.ts';

export interface ConnectionFaults {
  /** What the connection says that it has not yet sent. */
  readonly bufferedBytes?: () => number;
  /** It stays open after close(), as when the other end reads nothing. */
  readonly hangs?: boolean;
}

export class TestClient {
  readonly connection: Connection;
  /** All frames since the last take(), decoded. */
  frames: ServerMessage[][] = [];
  destroyed = false;
  /** Hears how long each frame is. */
  sent: (bytes: number) => void = () => {};
  readonly #clock: ManualClock;
  #handler: ConnectionHandler | undefined;
  #open = true;

  constructor(clock: ManualClock, { bufferedBytes = () => 0, hangs = false }: ConnectionFaults) {
    this.#clock = clock;
    const isOpen = (): boolean => this.#open;
    this.connection = {
      remoteAddress: 'client:1',
      peerIdentity: undefined,
      receivedBytes: 0,
      get bufferedBytes() {
        return bufferedBytes();
      },
      get open() {
        return isOpen();
      },
      admit: () => {},
      setHandler: (handler) => {
        this.#handler = handler;
      },
      send: (frame) => {
        if (!this.#open) return;
        this.sent(frame.length);
        this.frames.push(decodeServerFrame(new Uint8Array(frame)));
      },
      close: () => {
        if (!hangs) this.drop();
      },
      destroy: () => {
        this.destroyed = true;
        this.drop();
      },
    };
  }

  get open(): boolean {
    return this.#open;
  }

  /** The connection breaks. */
  drop(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#handler?.close('dropped');
  }

  /** One frame; the server's turn does not end. */
  send(...messages: ClientMessage[]): void {
    this.sendBytes(encodeClientFrame(messages));
  }

  sendBytes(bytes: Uint8Array): void {
    const frame = new Uint8Array(bytes);
    this.#handler?.frame(frame);
    // Its memory is used again.
    frame.fill(0xee);
  }

  /** Ends the turn, and returns everything that has arrived since it was asked last. */
  take(): ServerMessage[] {
    this.#clock.runChecks();
    return this.frames.splice(0).flat();
  }

  hello(clusterId = '', version: number = PROTOCOL_VERSION, features: FeatureSet = 0): void {
    this.send({ type: 'hello', version, features, clusterId, required: 0 });
  }

  sendAttach(secret = 1, { id = 1, session = 0, timeoutMs = 2_000, givesBack = false } = {}): void {
    const request: AttachRequest = {
      secret: new Uint8Array(16).fill(secret),
      session,
      timeoutMs,
      label: `client ${secret}`,
      givesBack,
    };
    this.send({ type: 'attach', id, payload: encodeAttachRequest(request) });
  }

  /** Attaches and returns the outcome. */
  attach(
    secret = 1,
    options: { id?: number; session?: number; timeoutMs?: number; givesBack?: boolean } = {},
  ): Extract<Reply, { type: 'attached' }> {
    this.sendAttach(secret, options);
    const message = this.take().find((each) => each.type === 'attached');
    if (message?.reply.type !== 'attached') throw new Error(`not attached: ${JSON.stringify(message)}`);
    return message.reply;
  }

  request(
    number: number,
    command: Exclude<Command, { type: 'attach' | 'expireSession' | 'refuse' }>,
    ackedUpTo = 0,
  ): void {
    const type = CommandType[command.type];
    this.send({ type: 'request', number, ackedUpTo, command: type, payload: encodeCommand(command) });
  }

  acquire(number: number, lock: string, wait = true): void {
    this.request(number, { type: 'acquire', lock, kind: 0, wait });
  }

  read(id: number, query: Query, consistency: Consistency = 'linearizable', minIndex = 0): void {
    this.send({ type: 'read', id, consistency, minIndex, query });
  }

  heartbeat(id: number): void {
    this.send({ type: 'heartbeat', id });
  }
}
