/**
 * The way to one peer: a connection that this server dials and on which it alone speaks once they have greeted each other (the peer
 * answers on its own, and here only lets itself be heard). Dials again at once when a connection that had lasted closes, since a refusal
 * then is the proof that the peer's process is gone, or when nothing is heard on it any more; and less and less often where it is not let in.
 */

import { MalformedError, hasFeature, pack, type Packable } from '@holdfast/protocol';
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
import { decodeWelcome } from './greeting-codec.ts';
import { IMPOSTOR, type DialledGreeting } from './greeting.ts';
import { LinkWatch, isKeepAlive, silenceMs, type LinkTiming } from './link-watch.ts';
import { hintsAtExpulsion } from './peer-admission.ts';
import { MAX_PEER_FRAME_BYTES } from './peer-codec.ts';
import { PeerFeature } from './peer-features.ts';

/** For the peer's host, and as long again for its process. */
const DIAL_TIMEOUT_MS = 1_000;
/** A dial that began less than this ago is still on its way. */
const DIAL_FRESH_MS = 100;
const RETRY_MIN_MS = 20;
const RETRY_MAX_MS = 500;
/** Where the host accepts connections, and the process, which is stopped perhaps, does not answer. It dials itself when it goes on. */
const UNANSWERED_RETRY_MAX_MS = 5_000;
/** Where this server is not let in. */
export const REFUSED_RETRY_MAX_MS = 15_000;
/** A connection that closes sooner is not dialled again at once. */
const LASTING_MS = 1_000;
/** A turn's items go as one frame up to about this; the receiver's bound leaves room for one large item more. */
const FRAME_BYTES = MAX_PEER_FRAME_BYTES / 4;
/** Above this the peer does not read; more would only pile up. */
const HIGH_WATER_BYTES = 32 * 1024 * 1024;

export interface PeerLinkOptions {
  readonly peer: ServerId;
  readonly address: Address;
  readonly timing: LinkTiming;
  /** A new one for each connection. */
  newGreeting(): DialledGreeting;
}

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
  readonly #options: PeerLinkOptions;
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
  /** Undefined for a peer that says nothing on this connection. */
  #watch: LinkWatch | undefined;
  /** The last one. */
  #greeting: DialledGreeting | undefined;
  /** Under way: one that gets no answer does not hold up the next one. */
  #dials = 0;
  #dialedAtMs = -Infinity;
  #stopped = false;
  #retry: Timer | undefined;
  #failures = 0;
  /** How often in a row this server was not let in. */
  #timesRefused = 0;
  /** How often in a row the peer's host has accepted a dial that its process did not answer. */
  #unanswered = 0;
  #outbox: Packable[] = [];
  #outboxBytes = 0;

  constructor(
    options: PeerLinkOptions,
    events: PeerLinkEvents,
    world: { clock: Clock; network: Network; random: Random; logger: Logger; refusals: RefusalLog },
  ) {
    this.#options = options;
    this.#events = events;
    this.#clock = world.clock;
    this.#network = world.network;
    this.#random = world.random;
    this.#logger = world.logger;
    this.#refusals = world.refusals;
  }

  get address(): Address {
    return this.#options.address;
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

  /** Dials now, unless connected, or a dial has just begun. */
  dial(): void {
    const now = this.#clock.monotonicMs();
    if (this.#stopped || this.#connection !== undefined) return;
    if (this.#dials > 0 && now - this.#dialedAtMs < DIAL_FRESH_MS) return;
    this.#dials += 1;
    this.#dialedAtMs = now;
    const { address, timing } = this.#options;
    // What is lost on the way the kernel sends again after a second at the earliest.
    if (this.#unanswered === 0) this.#dialIn(timing.redialMs);
    else this.#retry?.cancel();
    const limits = { timeoutMs: DIAL_TIMEOUT_MS, acceptedTimeoutMs: DIAL_TIMEOUT_MS };
    this.#network.dial({ address, ...limits, maxFrameBytes: MAX_PEER_FRAME_BYTES }).then(
      (connection) => this.#onConnection(connection),
      (error: unknown) => this.#onDialFailure(error),
    );
  }

  /** Once in `lookMs`, and to let the peer hear this server: false when it should be heard, and is not, and the connection is closed. */
  look(): boolean {
    if (this.#watch === undefined || this.#watch.look()) return true;
    const { peer, address, timing } = this.#options;
    const silentMs = silenceMs(timing);
    this.#logger.warn({ peer, address, silentMs }, 'a peer is not heard any more; closing the connection to it');
    this.#connection?.destroy();
    return false;
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
    this.#watch?.spoke();
    this.#connection?.send(pack(items));
  }

  stop(): void {
    this.#stopped = true;
    this.#retry?.cancel();
    this.#connection?.close();
    this.#forgetConnection();
  }

  #onConnection(connection: Connection): void {
    this.#dials -= 1;
    this.#unanswered = 0;
    if (this.#stopped || this.#connection !== undefined) {
      connection.destroy();
      return;
    }
    this.#retry?.cancel();
    const since = this.#clock.monotonicMs();
    const greeting = this.#options.newGreeting();
    const limitMs = silenceMs(this.#options.timing);
    const expectAnswer = (): Timer => this.#clock.setTimer(limitMs, () => connection.destroy());
    let timer = expectAnswer();
    connection.setHandler({
      frame: (frame) => {
        if (this.#connection !== connection) return;
        timer.cancel();
        if (this.#welcome) this.#heard(connection, frame);
        else if (greeting.challenged) this.#welcomed(connection, frame);
        else {
          timer = expectAnswer();
          this.#challenged(connection, greeting, frame);
        }
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
    const { peer, address } = this.#options;
    this.#refusals.refused(reason, address, problem, { peer });
    connection.destroy();
  }

  #welcomed(connection: Connection, frame: Uint8Array): void {
    try {
      const speaks = hasFeature(decodeWelcome(frame), PeerFeature.keepAlive);
      this.#watch = speaks ? new LinkWatch(connection, this.#options.timing) : undefined;
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error;
      this.#breakOff(connection, 'greets in another way', error.message);
      return;
    }
    this.#welcome = true;
    this.#timesRefused = 0;
    this.#events.connected();
  }

  #heard(connection: Connection, frame: Uint8Array): void {
    if (this.#watch !== undefined && isKeepAlive(frame)) return;
    this.#breakOff(connection, 'spoke out of turn', 'it spoke on a connection that this server dialled');
  }

  #onClose(connection: Connection, reason: string, ageMs: number): void {
    if (this.#connection !== connection) return;
    const wasWelcome = this.#welcome;
    this.#forgetConnection();
    const { peer, address } = this.#options;
    if (wasWelcome) {
      this.#logger.info({ peer, address, reason }, 'connection to peer closed');
      this.#events.disconnected();
    } else if (!this.#brokenOff) {
      this.#refusals.refused('not welcomed', address, reason, { peer });
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

  #forgetConnection(): void {
    this.#connection = undefined;
    this.#welcome = false;
    this.#watch = undefined;
    this.#clearOutbox();
  }

  #clearOutbox(): void {
    this.#outbox = [];
    this.#outboxBytes = 0;
  }

  #onDialFailure(error: unknown): void {
    this.#dials -= 1;
    if (this.#stopped || this.#connection !== undefined) return;
    const { failure = 'failed', accepted = false } = error instanceof DialError ? error : {};
    this.#unanswered = accepted ? this.#unanswered + 1 : 0;
    if (failure === 'refused') this.#events.refused();
    if (this.#dials === 0 || accepted) this.#retryLater();
  }

  #retryLater(): void {
    const unanswered = this.#unanswered > 0 ? this.#unanswered + 2 : 0;
    const attempts = this.#timesRefused > 0 ? this.#timesRefused + 2 : Math.max(this.#failures, unanswered);
    const patient = this.#unanswered > 0 ? UNANSWERED_RETRY_MAX_MS : RETRY_MAX_MS;
    const max = this.#timesRefused > 0 ? REFUSED_RETRY_MAX_MS : patient;
    const ceiling = Math.min(max, RETRY_MIN_MS * 2 ** Math.min(attempts, 10));
    this.#failures += 1;
    this.#dialIn(ceiling * (0.5 + this.#random.next() / 2));
  }

  #dialIn(ms: number): void {
    this.#retry?.cancel();
    this.#retry = this.#clock.setTimer(ms, () => this.dial());
  }
}

/** Only byte strings can be large. */
function blobBytes(item: Packable): number {
  if (!Array.isArray(item)) return 0;
  let bytes = 0;
  for (const part of item) if (part instanceof Uint8Array) bytes += part.length;
  return bytes;
}
