/**
 * The network: connections of messages ("frames"). Frames of one connection arrive in order and at most once; a
 * connection may close at any point, with an unknown suffix of frames lost each way; a dial may be refused or hang.
 * `send` does not mean delivered.
 */

/** `host:port`; IPv6 hosts in brackets. */
export type Address = string;

export interface ConnectionHandler {
  frame(bytes: Uint8Array): void;
  /** Called exactly once; nothing is called after it. */
  close(reason: string): void;
}

export interface Connection {
  readonly remoteAddress: Address;
  /** Bytes accepted by `send` and not yet taken by the operating system; the sender's measure for backpressure. */
  readonly bufferedBytes: number;
  readonly open: boolean;
  /** Must be called in the turn in which the connection was handed over, or frames are lost. What came before is handed over next. */
  setHandler(handler: ConnectionHandler): void;
  /** Never throws; on a closed connection it does nothing. The bytes belong to the connection from now on. */
  send(frame: Uint8Array): void;
  /**
   * Flushes what was sent, then closes. The own handler hears no more frames, and `close` when the peer has answered or has not
   * within two seconds. The peer hears the reason, cut to 123 bytes.
   */
  close(reason?: string): void;
  /** Closes at once and drops what was not yet sent. The own handler hears `close` in a later turn and no more frames. */
  destroy(): void;
}

/** An HTTP request on a listening address, as plain data, so that handlers run without sockets. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
}

export interface HttpResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface ListenOptions {
  readonly address: Address;
  /** A longer frame closes its connection. */
  readonly maxFrameBytes: number;
  onConnection(connection: Connection): void;
  /** Answers plain HTTP on the same port; without it every such request gets 426. */
  http?(request: HttpRequest): Promise<HttpResponse>;
  /**
   * Hosts (without port) that a request's `Host` header may name. Others are refused with 403, as is every WebSocket upgrade
   * that carries an `Origin`: a web page must not reach a local ensemble, not even by DNS rebinding. Undefined: any host.
   */
  readonly allowedHosts?: readonly string[];
}

export interface Listener {
  /** With the real port where the options asked for port 0. */
  readonly address: Address;
  /** Stops accepting, destroys the accepted connections, resolves when the port is free. */
  close(): Promise<void>;
}

export type DialFailure =
  /** The host answered that nothing listens there: the process is gone. */
  | 'refused'
  /** No answer within the time. */
  | 'timeout'
  /** Anything else (no route, name not found, handshake refused). */
  | 'failed';

export class DialError extends Error {
  readonly failure: DialFailure;

  constructor(failure: DialFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DialError';
    this.failure = failure;
  }
}

export class ListenError extends Error {
  readonly code: 'ADDRESS_IN_USE' | 'ADDRESS_NOT_AVAILABLE' | 'NOT_PERMITTED' | 'FAILED';

  constructor(code: ListenError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ListenError';
    this.code = code;
  }
}

export interface DialOptions {
  readonly address: Address;
  readonly timeoutMs: number;
  readonly maxFrameBytes: number;
}

export interface Network {
  /** Rejects with {@link ListenError}. */
  listen(options: ListenOptions): Promise<Listener>;
  /** Rejects with {@link DialError}. */
  dial(options: DialOptions): Promise<Connection>;
}
