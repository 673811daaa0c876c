/**
 * Connections of bytes, for protocols that bring their own framing. What was written arrives in order, cut anywhere; a stream may close
 * at any point, with an unknown suffix lost each way.
 */

import type { Address } from './address.ts';
import type { PeerIdentity, Securable } from './transport-security.ts';

export interface StreamHandler {
  /** At least one byte. The bytes are only lent: what is kept is copied. */
  data(bytes: Uint8Array): void;
  /** Called exactly once; nothing is called after it. */
  close(reason: string): void;
}

export interface ByteStream {
  readonly remoteAddress: Address;
  readonly peerIdentity: PeerIdentity | undefined;
  /** Bytes that were written and not yet taken by the operating system; the sender's measure for backpressure. */
  readonly bufferedBytes: number;
  readonly receivedBytes: number;
  readonly open: boolean;
  /** What came before it was set is handed over next. */
  setHandler(handler: StreamHandler): void;
  /** Never throws; on a closed stream it does nothing. The bytes belong to the stream from now on. */
  write(bytes: Uint8Array): void;
  /** Flushes what was written, then closes, within two seconds. The own handler hears `close` and no more data. */
  close(): void;
  /** Closes at once and drops what was not yet sent. The own handler hears `close` in a later turn and no more data. */
  destroy(): void;
}

export interface StreamListenOptions extends Securable {
  readonly address: Address;
  /** Accepted streams; one more is closed at once. @default any number */
  readonly maxSockets?: number;
  /** The same for those from one address, other than a loopback address. @default any number */
  readonly maxSocketsPerAddress?: number;
  /** The same for those from one loopback address. @default any number */
  readonly maxSocketsPerLoopbackAddress?: number;
  onStream(stream: ByteStream): void;
}

export interface StreamDialOptions extends Securable {
  readonly address: Address;
  /** How long the host may take to answer. */
  readonly timeoutMs: number;
}
