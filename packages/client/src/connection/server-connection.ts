/**
 * One connection to one server, from the dial on: greeting, frames, and the watch for a server that has stopped answering (a
 * stopped process keeps its sockets open). What the messages mean is the session's business.
 */

import {
  CLIENT_FEATURES,
  MAX_FRAME_BYTES,
  PROTOCOL_VERSIONS,
  commonFeatures,
  commonVersion,
  decodeServerFrame,
  describeFeatures,
  describeVersions,
  missingFeatures,
} from '@holdfast/protocol';
import type { ClientMessage, ErrorCode, FeatureSet, ServerMessage } from '@holdfast/protocol';
import type { Address, Clock, Connection, Network } from '@holdfast/runtime';
import { ConnectionError } from '../errors.ts';
import type { Purpose } from '../options.ts';
import { isRenewing, type Renewals } from '../heartbeat-thread/renewing-connection.ts';
import { errorFromServer } from '../server-error.ts';
import { LazyTimer } from '../lazy-timer.ts';
import type { Instant } from '../session/lease.ts';
import { CLIENT_NAME, CLIENT_VERSION } from '../version.ts';
import { Outbox } from './outbox.ts';

export interface ServerConnectionOptions {
  readonly address: Address;
  /** Empty: any cluster. */
  readonly clusterId: string;
  readonly purpose: Purpose;
  /** For each step: until the host accepts the connection, the process there has shaken hands, and the server has welcomed this client. */
  readonly patienceMs: number;
  /** Silence, while an answer is due, after which the server is asked whether it lives. */
  readonly pingAfterMs: number;
  /** Silence after that question that ends the connection. */
  readonly pongTimeoutMs: number;
}

export interface ServerConnectionHandler {
  message(message: ServerMessage): void;
  /** True while the server owes an answer to anything. */
  awaitsAnswer(): boolean;
  /** Called once; nothing is called after it. `code`: what the server gave as its reason. */
  closed(reason: string, code: ErrorCode | undefined): void;
}

export type Welcome = Extract<ServerMessage, { readonly type: 'welcome' }>;

/** The server has accepted the connection, and has not welcomed this client in time. */
export class GreetingTimeoutError extends ConnectionError {}

/** The server serves others first, and takes this client in so long. */
export class ServerBusyError extends ConnectionError {
  readonly againInMs: number;

  constructor(message: string, againInMs: number) {
    super(message, { code: 'OVERLOADED' });
    this.againInMs = againInMs;
  }
}

/**
 * Resolves once the server has welcomed this client. @throws DialError, GreetingTimeoutError, ServerBusyError, ConnectionError and the
 * error that a refusal stands for.
 */
export async function openServerConnection(
  options: ServerConnectionOptions,
  deps: { readonly clock: Clock; readonly network: Network },
): Promise<ServerConnection> {
  const { address, patienceMs } = options;
  const limits = { timeoutMs: patienceMs, acceptedTimeoutMs: patienceMs };
  const socket = await deps.network.dial({ address, ...limits, maxFrameBytes: MAX_FRAME_BYTES });
  const connection = new ServerConnection(options, deps.clock, socket);
  return await connection.greet(patienceMs);
}

export class ServerConnection {
  readonly address: Address;
  readonly #clock: Clock;
  readonly #socket: Connection;
  readonly #outbox: Outbox;
  readonly #pingAfterMs: number;
  readonly #pongTimeoutMs: number;
  readonly #clusterId: string;
  readonly #purpose: Purpose;
  readonly #silence: LazyTimer;
  #greeting: { resolve(connection: ServerConnection): void; reject(error: Error): void } | undefined;
  #greetingTimer: LazyTimer | undefined;
  #handler: ServerConnectionHandler | undefined;
  /** Messages that came in before there was a handler. */
  #early: ServerMessage[] = [];
  #welcome: Welcome | undefined;
  #goodbye: { readonly code: ErrorCode; readonly message: string; readonly againInMs?: number } | undefined;
  #closed: string | undefined;
  #lastReceivedMs = 0;
  #awaitingSinceMs = 0;
  #pingedAtMs: number | undefined;
  #pings = 0;

  constructor(options: ServerConnectionOptions, clock: Clock, socket: Connection) {
    this.address = options.address;
    this.#clusterId = options.clusterId;
    this.#purpose = options.purpose;
    this.#pingAfterMs = options.pingAfterMs;
    this.#pongTimeoutMs = options.pongTimeoutMs;
    this.#clock = clock;
    this.#socket = socket;
    this.#outbox = new Outbox(clock, socket);
    this.#silence = new LazyTimer(clock, () => this.#checkSilence());
    socket.setHandler({ frame: (bytes) => this.#frame(bytes), close: (reason) => this.#onClose(reason) });
  }

  get open(): boolean {
    return this.#closed === undefined;
  }

  get welcome(): Welcome {
    if (this.#welcome === undefined) throw new ConnectionError(`${this.address} has not welcomed this client`);
    return this.#welcome;
  }

  /** What client and server both know. */
  get features(): FeatureSet {
    return commonFeatures(this.welcome.features, CLIENT_FEATURES);
  }

  greet(patienceMs: number): Promise<ServerConnection> {
    return new Promise((resolve, reject) => {
      this.#greeting = { resolve, reject };
      const giveUp = (): void => {
        if (this.#greeting === undefined) return;
        this.#greeting = undefined;
        const problem = `${this.address}: accepted, and no greeting within ${patienceMs} ms`;
        reject(new GreetingTimeoutError(problem));
        this.destroy(problem);
      };
      // A busy event loop runs this timer before it reads its sockets: look again when they have been read.
      this.#greetingTimer = new LazyTimer(this.#clock, () => this.#clock.afterPoll(giveUp));
      this.#greetingTimer.ensure(this.#clock.monotonicMs() + patienceMs);
      this.#outbox.post({
        type: 'hello',
        version: PROTOCOL_VERSIONS.highest,
        lowestVersion: PROTOCOL_VERSIONS.lowest,
        features: CLIENT_FEATURES,
        clusterId: this.#clusterId,
        required: 0,
        withoutLeader: this.#purpose === 'ask-anyone',
        program: CLIENT_NAME,
        programVersion: CLIENT_VERSION,
      });
    });
  }

  /** Hands over what came in since the welcome, and everything from now on. */
  setHandler(handler: ServerConnectionHandler): void {
    this.#handler = handler;
    const early = this.#early;
    this.#early = [];
    for (const message of early) handler.message(message);
    if (this.#closed !== undefined) handler.closed(this.#closed, this.#goodbye?.code);
  }

  /** Stops telling the handler anything; for a connection that another one replaces. */
  dropHandler(): void {
    this.#handler = undefined;
  }

  /** The instant that this turn's messages count as sent. */
  post(message: ClientMessage): Instant {
    const turn = this.#outbox.post(message);
    if (!this.#silence.armed && this.open) {
      this.#awaitingSinceMs = turn.monotonicMs;
      this.#pingedAtMs = undefined;
      this.#silence.ensure(turn.monotonicMs + this.#pingAfterMs);
    }
    return turn;
  }

  /** Renews the session that is attached here while this thread stands still, where there is another one that does. */
  renewEvery(intervalMs: number): Renewals | undefined {
    return isRenewing(this.#socket) ? this.#socket.renewEvery(intervalMs) : undefined;
  }

  /** Sends what this turn has gathered, then closes. */
  close(reason: string): void {
    this.#clock.afterPoll(() => this.#socket.close(reason));
    this.#end(reason);
  }

  destroy(reason: string): void {
    this.#end(reason);
    this.#socket.destroy();
  }

  #frame(bytes: Uint8Array): void {
    if (this.#closed !== undefined) return;
    this.#lastReceivedMs = this.#clock.monotonicMs();
    this.#pingedAtMs = undefined;
    let messages: ServerMessage[];
    try {
      messages = decodeServerFrame(bytes);
    } catch (error) {
      this.destroy(`the server sent a malformed frame: ${String(error)}`);
      return;
    }
    for (const message of messages) {
      this.#message(message);
      if (this.#closed !== undefined) return;
    }
  }

  #message(message: ServerMessage): void {
    if (message.type === 'goodbye') {
      this.#goodbye = message;
      this.destroy(message.message === '' ? message.code : message.message);
    } else if (message.type === 'welcome' && missingFeatures(message.required, CLIENT_FEATURES) !== 0) {
      const unknown = describeFeatures(missingFeatures(message.required, CLIENT_FEATURES));
      const problem = `the server demands features that this client does not know (${unknown}); install a newer client`;
      this.#goodbye = { code: 'UNSUPPORTED', message: problem };
      this.destroy(problem);
    } else if (message.type === 'welcome' && !speaks(message.version)) {
      const own = describeVersions(PROTOCOL_VERSIONS);
      const problem = `the server speaks protocol version ${message.version}, this client ${own}; install matching versions`;
      this.#goodbye = { code: 'VERSION_MISMATCH', message: problem };
      this.destroy(problem);
    } else if (message.type === 'welcome') {
      this.#welcome ??= message;
      this.#greetingTimer?.stop();
      this.#greeting?.resolve(this);
      this.#greeting = undefined;
    } else if (this.#handler === undefined) this.#early.push(message);
    else this.#handler.message(message);
  }

  #onClose(reason: string): void {
    this.#end(reason === '' ? 'the server closed the connection' : reason);
  }

  #end(reason: string): void {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    this.#silence.stop();
    this.#greetingTimer?.stop();
    this.#early = [];
    if (this.#greeting !== undefined) {
      const goodbye = this.#goodbye;
      const text = `${this.address}: ${reason}`;
      if (goodbye === undefined) this.#greeting.reject(new ConnectionError(text));
      else if (goodbye.againInMs !== undefined) this.#greeting.reject(new ServerBusyError(text, goodbye.againInMs));
      else this.#greeting.reject(errorFromServer(goodbye.code, text));
      this.#greeting = undefined;
    }
    this.#handler?.closed(reason, this.#goodbye?.code);
  }

  #checkSilence(): void {
    if (!this.open || this.#handler?.awaitsAnswer() !== true) return;
    const nowMs = this.#clock.monotonicMs();
    if (this.#pingedAtMs !== undefined) {
      const dropAtMs = this.#pingedAtMs + this.#pongTimeoutMs;
      if (nowMs < dropAtMs) this.#silence.ensure(dropAtMs);
      // A busy event loop runs this timer before it reads its sockets: look again when they have been read.
      else this.#clock.afterPoll(() => this.#dropIfSilent());
      return;
    }
    const pingAtMs = Math.max(this.#lastReceivedMs, this.#awaitingSinceMs) + this.#pingAfterMs;
    if (nowMs < pingAtMs) {
      this.#silence.ensure(pingAtMs);
      return;
    }
    this.#pings += 1;
    this.#pingedAtMs = nowMs;
    this.#outbox.post({ type: 'ping', id: this.#pings });
    this.#silence.ensure(nowMs + this.#pongTimeoutMs);
  }

  #dropIfSilent(): void {
    if (!this.open) return;
    if (this.#pingedAtMs !== undefined) {
      this.destroy(`no sign of life for ${Math.round(this.#clock.monotonicMs() - this.#lastSignMs())} ms`);
    } else if (!this.#silence.armed) {
      this.#awaitingSinceMs = this.#clock.monotonicMs();
      this.#silence.ensure(this.#awaitingSinceMs + this.#pingAfterMs);
    }
  }

  #lastSignMs(): number {
    return Math.max(this.#lastReceivedMs, this.#awaitingSinceMs);
  }
}

function speaks(version: number): boolean {
  return commonVersion(PROTOCOL_VERSIONS, { lowest: version, highest: version }) !== undefined;
}
