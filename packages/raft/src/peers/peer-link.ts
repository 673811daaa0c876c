/**
 * The way to one peer: a connection that this server dials and on which it alone speaks once they have greeted each other (the peer
 * answers on its own). Dials again at once when a connection that had lasted closes, since a refusal then is the proof that the peer's
 * process is gone; and less and less often where it is not let in.
 */

import { MalformedError, pack, type Packable } from '@holdfast/protocol';
import {
  DialError,
  type Address,
  type Clock,
  type Connection,
  type Logger,
  type Network,
  type Random,
  type RefusalLog,
  type Timer,
} from '@holdfast/runtime';
import type { ServerId } from '../core/index.ts';
import { IMPOSTOR, type DialledGreeting } from './greeting.ts';
import { hintsAtExpulsion } from './peer-admission.ts';
import { MAX_PEER_FRAME_BYTES } from './peer-codec.ts';

const DIAL_TIMEOUT_MS = 1_000;
const RETRY_MIN_MS = 20;
const RETRY_MAX_MS = 500;
/** Where this server is not let in. */
export const REFUSED_RETRY_MAX_MS = 15_000;
/** A connection that closes sooner is not dialled again at once. */
const LASTING_MS = 1_000;
/** Until the peer's welcome. */
const GREETING_TIMEOUT_MS = 5_000;
/** A turn's items go as one frame up to about this; the receiver's bound leaves room for one large item more. */
const FRAME_BYTES = MAX_PEER_FRAME_BYTES / 4;
/** Above this the peer does not read; more would only pile up. */
const HIGH_WATER_BYTES = 32 * 1024 * 1024;

export interface PeerLinkEvents {
  /** The peer has shown who it is, as far as it can. */
  shown(): void;
  /** It hears this server. */
  connected(): void;
  /** What was sent on the connection may be lost. */
  disconnected(): void;
  /** Nothing listens there. */
  refused(): void;
  /** The other end says that it does not know this server as a member. */
  notAdmitted(reason: string): void;
}

export class PeerLink {
  readonly #address: Address;
  readonly #peer: ServerId;
  readonly #newGreeting: () => DialledGreeting;
  readonly #events: PeerLinkEvents;
  readonly #clock: Clock;
  readonly #network: Network;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #refusals: RefusalLog;
  /** Open, and perhaps not welcome yet. */
  #connection: Connection | undefined;
  #welcome = false;
  /** This side has closed it for what the other end said. */
  #brokenOff = false;
  /** The last one. */
  #greeting: DialledGreeting | undefined;
  #dialing = false;
  #stopped = false;
  #retry: Timer | undefined;
  #failures = 0;
  /** How often in a row this server was not let in. */
  #timesRefused = 0;
  #outbox: Packable[] = [];
  #outboxBytes = 0;

  constructor(
    peer: ServerId,
    address: Address,
    newGreeting: () => DialledGreeting,
    events: PeerLinkEvents,
    world: { clock: Clock; network: Network; random: Random; logger: Logger; refusals: RefusalLog },
  ) {
    this.#address = address;
    this.#peer = peer;
    this.#newGreeting = newGreeting;
    this.#events = events;
    this.#clock = world.clock;
    this.#network = world.network;
    this.#random = world.random;
    this.#logger = world.logger;
    this.#refusals = world.refusals;
  }

  get address(): Address {
    return this.#address;
  }

  get connected(): boolean {
    return this.#welcome;
  }

  /** Whether the server at the peer's address has that incarnation; undefined before it was asked. */
  confirms(incarnation: string): boolean | undefined {
    return this.#greeting?.challenged === true ? this.#greeting.proves(incarnation) : undefined;
  }

  /** Of the last hello that was said there. */
  get nonce(): Uint8Array | undefined {
    return this.#greeting?.nonce;
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
    if (!this.#welcome || (this.#connection?.bufferedBytes ?? 0) > HIGH_WATER_BYTES) return false;
    this.#outbox.push(item);
    this.#outboxBytes += blobBytes(item);
    if (this.#outboxBytes >= FRAME_BYTES) this.flush();
    return true;
  }

  /** As queue, for what may only be lost with the connection: a peer that does not read loses the connection. */
  queueOrClose(item: Packable): void {
    if (!this.queue(item) && this.#welcome) this.#connection?.destroy();
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
    this.#welcome = false;
  }

  #onConnection(connection: Connection): void {
    this.#dialing = false;
    if (this.#stopped) {
      connection.destroy();
      return;
    }
    const since = this.#clock.monotonicMs();
    const greeting = this.#newGreeting();
    const timer = this.#clock.setTimer(GREETING_TIMEOUT_MS, () => connection.destroy());
    connection.setHandler({
      frame: (frame) => {
        if (this.#connection !== connection) return;
        if (this.#welcome) {
          this.#breakOff(connection, 'spoke out of turn', 'it spoke on a connection that this server dialled');
        } else if (greeting.challenged) {
          timer.cancel();
          this.#welcomed();
        } else this.#challenged(connection, greeting, frame);
      },
      close: (reason) => {
        timer.cancel();
        this.#onClose(connection, reason, this.#clock.monotonicMs() - since);
      },
    });
    this.#connection = connection;
    this.#brokenOff = false;
    this.#clearOutbox();
    this.#greeting = greeting;
    connection.send(greeting.hello);
  }

  #challenged(connection: Connection, greeting: DialledGreeting, frame: Uint8Array): void {
    try {
      greeting.challengedBy(frame);
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error;
      this.#breakOff(connection, 'greets in another way', error.message);
      return;
    }
    this.#events.shown();
    if (greeting.satisfied) {
      connection.send(greeting.proof);
      return;
    }
    this.#timesRefused += 1;
    this.#breakOff(connection, 'not the peer', IMPOSTOR);
  }

  #breakOff(connection: Connection, reason: string, problem: string): void {
    this.#brokenOff = true;
    this.#refusals.refused(reason, this.#address, problem, { peer: this.#peer });
    connection.destroy();
  }

  #welcomed(): void {
    this.#welcome = true;
    this.#timesRefused = 0;
    this.#events.connected();
  }

  #onClose(connection: Connection, reason: string, ageMs: number): void {
    if (this.#connection !== connection) return;
    const wasWelcome = this.#welcome;
    this.#connection = undefined;
    this.#welcome = false;
    this.#clearOutbox();
    if (wasWelcome) {
      this.#logger.info({ peer: this.#peer, address: this.#address, reason }, 'connection to peer closed');
      this.#events.disconnected();
    } else if (!this.#brokenOff) {
      this.#refusals.refused('not welcomed', this.#address, reason, { peer: this.#peer });
    }
    if (hintsAtExpulsion(reason)) {
      this.#timesRefused += 1;
      this.#events.notAdmitted(reason);
    }
    if (this.#stopped) return;
    if (wasWelcome && ageMs >= LASTING_MS && this.#timesRefused === 0) {
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
    const attempts = this.#timesRefused > 0 ? this.#timesRefused + 2 : this.#failures;
    const max = this.#timesRefused > 0 ? REFUSED_RETRY_MAX_MS : RETRY_MAX_MS;
    const ceiling = Math.min(max, RETRY_MIN_MS * 2 ** Math.min(attempts, 10));
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
