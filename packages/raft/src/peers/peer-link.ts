/**
 * The way to one peer: a connection that this server dials and on which it alone speaks (the peer answers on its own). Dials again
 * at once when a connection that had lasted closes, since a refusal then is the proof that the peer's process is gone.
 */

import { pack, type Packable } from '@holdfast/protocol';
import {
  DialError,
  type Address,
  type Clock,
  type Connection,
  type Logger,
  type Network,
  type Random,
  type Timer,
} from '@holdfast/runtime';
import type { ServerId } from '../core/index.ts';
import { encodeHello, MAX_PEER_FRAME_BYTES, type PeerHello } from './peer-codec.ts';

const DIAL_TIMEOUT_MS = 1_000;
const RETRY_MIN_MS = 20;
const RETRY_MAX_MS = 500;
/** A connection that closes sooner was probably refused by the peer's hello check. */
const LASTING_MS = 1_000;
/** A turn's items go as one frame up to about this; the receiver's bound leaves room for one large item more. */
const FRAME_BYTES = MAX_PEER_FRAME_BYTES / 4;
/** Above this the peer does not read; more would only pile up. */
const HIGH_WATER_BYTES = 32 * 1024 * 1024;

export interface PeerLinkEvents {
  connected(): void;
  /** What was sent on the connection may be lost. */
  disconnected(): void;
  /** Nothing listens there. */
  refused(): void;
  /** The other end has closed the connection, and says why. */
  closed(reason: string): void;
}

export class PeerLink {
  readonly #address: Address;
  readonly #peer: ServerId;
  readonly #hello: () => PeerHello;
  readonly #events: PeerLinkEvents;
  readonly #clock: Clock;
  readonly #network: Network;
  readonly #random: Random;
  readonly #logger: Logger;
  #connection: Connection | undefined;
  #dialing = false;
  #stopped = false;
  #retry: Timer | undefined;
  #failures = 0;
  #outbox: Packable[] = [];
  #outboxBytes = 0;

  constructor(
    peer: ServerId,
    address: Address,
    hello: () => PeerHello,
    events: PeerLinkEvents,
    world: { clock: Clock; network: Network; random: Random; logger: Logger },
  ) {
    this.#address = address;
    this.#peer = peer;
    this.#hello = hello;
    this.#events = events;
    this.#clock = world.clock;
    this.#network = world.network;
    this.#random = world.random;
    this.#logger = world.logger;
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** Dials now, unless connected or dialing. */
  dial(): void {
    if (this.#stopped || this.#connection !== undefined || this.#dialing) return;
    this.#retry?.cancel();
    this.#dialing = true;
    this.#network
      .dial({ address: this.#address, timeoutMs: DIAL_TIMEOUT_MS, maxFrameBytes: MAX_PEER_FRAME_BYTES })
      .then(
        (connection) => this.#onConnection(connection),
        (error: unknown) => this.#onDialFailure(error),
      );
  }

  /** Put into this turn's frame; false when there is no connection or the peer does not read. */
  queue(item: Packable): boolean {
    if (this.#connection === undefined || this.#connection.bufferedBytes > HIGH_WATER_BYTES) return false;
    this.#outbox.push(item);
    this.#outboxBytes += blobBytes(item);
    if (this.#outboxBytes >= FRAME_BYTES) this.flush();
    return true;
  }

  /** As queue, for what may only be lost with the connection: a peer that does not read loses the connection. */
  queueOrClose(item: Packable): void {
    if (!this.queue(item)) this.#connection?.destroy();
  }

  /** Sends all that was queued since the last flush, as one frame. */
  flush(): void {
    if (this.#outbox.length === 0) return;
    const items = this.#outbox;
    this.#clearOutbox();
    this.#connection?.send(pack(items));
  }

  stop(): void {
    this.#stopped = true;
    this.#retry?.cancel();
    this.#connection?.close();
    this.#connection = undefined;
  }

  #onConnection(connection: Connection): void {
    this.#dialing = false;
    if (this.#stopped) {
      connection.destroy();
      return;
    }
    const since = this.#clock.monotonicMs();
    connection.setHandler({
      frame: () => {
        this.#logger.warn({ peer: this.#peer }, 'a peer spoke on a connection that is not its own; closing it');
        connection.destroy();
      },
      close: (reason) => this.#onClose(connection, reason, this.#clock.monotonicMs() - since),
    });
    connection.send(encodeHello(this.#hello()));
    this.#connection = connection;
    this.#clearOutbox();
    this.#events.connected();
  }

  #onClose(connection: Connection, reason: string, ageMs: number): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    this.#clearOutbox();
    this.#logger.info({ peer: this.#peer, address: this.#address, reason }, 'connection to peer closed');
    this.#events.disconnected();
    this.#events.closed(reason);
    if (this.#stopped) return;
    if (ageMs >= LASTING_MS) {
      this.#failures = 0;
      this.dial();
    } else {
      this.#retryLater();
    }
  }

  #clearOutbox(): void {
    this.#outbox = [];
    this.#outboxBytes = 0;
  }

  #onDialFailure(error: unknown): void {
    this.#dialing = false;
    if (this.#stopped) return;
    if (error instanceof DialError && error.failure === 'refused') this.#events.refused();
    this.#retryLater();
  }

  #retryLater(): void {
    const ceiling = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    this.#retry?.cancel();
    this.#retry = this.#clock.setTimer(ceiling * (0.5 + this.#random.next() / 2), () => this.dial());
  }
}

/** Only byte strings can be large. */
function blobBytes(item: Packable): number {
  if (!Array.isArray(item)) return 0;
  let bytes = 0;
  for (const part of item) if (part instanceof Uint8Array) bytes += part.length;
  return bytes;
}
