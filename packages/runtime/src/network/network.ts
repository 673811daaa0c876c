/**
 * The network: connections of messages ("frames"). Frames of one connection arrive in order and at most once; a
 * connection may close at any point, with an unknown suffix of frames lost each way; a dial may be refused or hang.
 * `send` does not mean delivered. Streams of bytes (byte-stream.ts) are for protocols with a framing of their own.
 */

import type { Address } from './address.ts';
import type { ByteStream, StreamDialOptions, StreamListenOptions } from './byte-stream.ts';
import type { HttpOptions } from './http.ts';
import type { PeerIdentity, Securable } from './transport-security.ts';

export interface ConnectionHandler {
  frame(bytes: Uint8Array): void;
  /** Called exactly once; nothing is called after it. */
  close(reason: string): void;
}

export interface Connection {
  readonly remoteAddress: Address;
  /** Who the other end is, as the transport has shown it; undefined without TLS, and for a client without a certificate. */
  readonly peerIdentity: PeerIdentity | undefined;
  /** Bytes accepted by `send` and not yet taken by the operating system; the sender's measure for backpressure. */
  readonly bufferedBytes: number;
  /** Bytes that have come, those of a frame that is not whole included: while it grows, the other end lives and can be heard. */
  readonly receivedBytes: number;
  readonly open: boolean;
  /** The other end has said who it is: from now on it may send as much as it likes ({@link ListenOptions.maxGreetingBytes}). */
  admit(): void;
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

export interface AllowedHosts {
  /** Names and addresses, without port. */
  readonly names: readonly string[];
  /** Any address passes too, for who listens on all of a machine. A name that somebody points here is never an address. */
  readonly anyAddress: boolean;
}

export interface ListenOptions extends HttpOptions, Securable {
  readonly address: Address;
  /** A longer frame closes its connection. */
  readonly maxFrameBytes: number;
  /** What a connection may send in all before it is admitted; more closes it. Undefined: as if it had been admitted. */
  readonly maxGreetingBytes?: number;
  /** Accepted sockets, upgraded or not; one more is closed at once. @default any number */
  readonly maxSockets?: number;
  /** The same for those from one address, other than a loopback address. @default any number */
  readonly maxSocketsPerAddress?: number;
  /** The same for those from one loopback address. @default any number */
  readonly maxSocketsPerLoopbackAddress?: number;
  onConnection(connection: Connection): void;
  /**
   * What a request's `Host` header may name: others are refused with 403, so that no page of the web reaches a local ensemble by a name
   * that it points here. Undefined: any host. Requests and upgrades that a browser has marked as another page's are refused always.
   */
  readonly allowedHosts?: AllowedHosts;
}

/** Why a listener itself has closed a connection, or refused a request. */
export const LISTENER_REFUSALS = [
  'too-many-sockets',
  'too-many-of-address',
  'too-much-before-greeting',
  'unfinished-too-long',
  'unfinished-too-much',
  'host',
  'web-page',
  'http-too-many',
  /** Asked to come again later, since more come than can be accepted. */
  'sent-away',
] as const;
export type ListenerRefusal = (typeof LISTENER_REFUSALS)[number];

/** What a listener carries now, and what it has refused so far. */
export interface ListenerLoad {
  /** Accepted and not closed, upgraded or not. */
  readonly sockets: number;
  /** Of these: wait for their handshake, since more come than it can shake hands with. */
  readonly waiting: number;
  /** Of frames that are not whole yet. */
  readonly unfinishedBytes: number;
  readonly refused: ReadonlyMap<ListenerRefusal, number>;
}

export interface Listener {
  /** With the real port where the options asked for port 0. */
  readonly address: Address;
  readonly load: ListenerLoad;
  /** Stops accepting, destroys the accepted connections, resolves when the port is free. */
  close(): Promise<void>;
}

/** The header of a 503 that tells a client when it is welcome, in milliseconds; `Retry-After` has whole seconds only. */
export const AGAIN_HEADER = 'holdfast-again-in-ms';

export type DialFailure =
  /** The host answered that nothing listens there: the process is gone. */
  | 'refused'
  /** No answer within the time. */
  | 'timeout'
  /** Anything else (no route, name not found, handshake refused). */
  | 'failed';

export interface DialErrorOptions extends ErrorOptions {
  readonly againInMs?: number;
  readonly accepted?: boolean;
}

export class DialError extends Error {
  readonly failure: DialFailure;
  /** The listener has more dials than it can answer now, and answers this one then. */
  readonly againInMs: number | undefined;
  /** A timeout behind the host, which had accepted the connection: its kernel lives, and its process does not answer. */
  readonly accepted: boolean;

  constructor(failure: DialFailure, message: string, options?: DialErrorOptions) {
    super(message, options);
    this.name = 'DialError';
    this.failure = failure;
    this.againInMs = options?.againInMs;
    this.accepted = options?.accepted ?? false;
  }
}

/** Of any copy of this package that the process has: each bundle may bring its own. */
export function isDialError(error: unknown): error is DialError {
  return error instanceof Error && error.name === 'DialError' && 'failure' in error;
}

export class ListenError extends Error {
  readonly code: 'ADDRESS_IN_USE' | 'ADDRESS_NOT_AVAILABLE' | 'NOT_PERMITTED' | 'FAILED';

  constructor(code: ListenError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ListenError';
    this.code = code;
  }
}

export interface DialOptions extends Securable {
  readonly address: Address;
  /** How long the host may take to answer at all. */
  readonly timeoutMs: number;
  /**
   * How long the process there may take once its host has accepted the connection, which the kernel does for a busy or stopped one as
   * well: counted anew from then. Undefined: `timeoutMs` is for both together.
   */
  readonly acceptedTimeoutMs?: number;
  readonly maxFrameBytes: number;
}

export interface Network {
  /** Rejects with {@link ListenError}. */
  listen(options: ListenOptions): Promise<Listener>;
  /** Rejects with {@link DialError}. */
  dial(options: DialOptions): Promise<Connection>;
  /** The same for streams of bytes, each on a port of its own kind. Rejects with {@link ListenError}. */
  listenForStreams(options: StreamListenOptions): Promise<Listener>;
  /** Rejects with {@link DialError}. */
  dialStream(options: StreamDialOptions): Promise<ByteStream>;
}
