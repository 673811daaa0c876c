/**
 * One client's connection: decodes its frames, gathers what it is sent in a turn into one frame, and closes it with a reason
 * when it breaks a rule. What its messages mean is in client-messages.ts; which session it serves, the port knows.
 */

import {
  ClientFeature,
  ClientFrame,
  MAX_FRAME_BYTES,
  MalformedError,
  NO_FEATURES,
  answers,
  encodeServerFrame,
  hasFeature,
  type ClientMessage,
  type ErrorCode,
  type FeatureSet,
  type ServerMessage,
} from '@holdfast/protocol';
import type { Clock, Connection, Timer } from '@holdfast/runtime';
import type { ServerCounters } from '../../counters.ts';
import {
  CLOSE_GRACE_MS,
  HANDSHAKE_TIMEOUT_MS,
  MAX_BUFFERED_BYTES,
  MAX_SESSIONLESS_BUFFERED_BYTES,
  MAX_UNREAD_BEFORE_ANSWER_BYTES,
} from '../../limits.ts';
import { TurnShare, type MessageSource, type MessageTurns } from './message-turns.ts';
import type { OutputDebtor } from './output-budget.ts';
import type { ClientChannel } from '../../port/client-channel.ts';
import type { SessionClient } from '../../port/session-client.ts';
import type { SessionPort } from '../../port/session-port.ts';

export interface MessageReceiver {
  /** Called for every message of a frame, hello included; only while the connection is open. */
  received(connection: ClientConnection, message: ClientMessage): void;
}

export interface ConnectionOwner {
  /** Something waits to be flushed; called once until the next flush. */
  dirty(connection: ClientConnection): void;
  /** It was sent goodbye. */
  dismissed(connection: ClientConnection, code: ErrorCode, message: string): void;
  /** What was sent has not all been read. */
  unread(connection: ClientConnection): void;
  /** Nothing more comes or goes, but perhaps a goodbye on its way. Called exactly once. */
  closed(connection: ClientConnection): void;
  /** The underlying connection is gone. Called exactly once, after `closed`. */
  gone(connection: ClientConnection): void;
}

export interface ClientConnectionDeps {
  readonly clock: Clock;
  readonly counters: ServerCounters;
  readonly port: SessionPort;
  readonly turns: MessageTurns;
  readonly receiver: MessageReceiver;
}

/** Where a connection is in its life. `greeted` after a good hello. */
export type Phase = 'new' | 'greeted' | 'closed';

export class ClientConnection implements ClientChannel, OutputDebtor, MessageSource {
  /** What the port knows of it. */
  readonly client: SessionClient;
  readonly share = new TurnShare();
  phase: Phase = 'new';
  /** What the client and this server both know. */
  features: FeatureSet = NO_FEATURES;
  /** It reads what this server has, leader or not, and may make no session. */
  withoutLeader = false;
  /** What the client says that it is; empty before it has. */
  program = '';
  unansweredAdmin = 0;
  /** Bytes of frames. */
  sentBytes = 0;
  /** Since somebody looked. */
  heard = true;
  /** Looks since then in which it had nothing under way either. */
  idleLooks = 0;

  readonly #connection: Connection;
  readonly #owner: ConnectionOwner;
  readonly #clock: Clock;
  readonly #counters: ServerCounters;
  readonly #port: SessionPort;
  readonly #turns: MessageTurns;
  readonly #receiver: MessageReceiver;
  /** Those whose messages wait for their turn, the first one perhaps in part. */
  #deferred: ClientFrame[] = [];
  /** Of this turn. Mostly one message or none, for which an array that grows would take room for seventeen. */
  #outbox: ServerMessage[] | undefined;
  #outboxDataBytes = 0;
  #handshakeTimer: Timer | undefined;

  constructor(
    connection: Connection,
    owner: ConnectionOwner,
    { clock, counters, port, turns, receiver }: ClientConnectionDeps,
  ) {
    this.#connection = connection;
    this.#owner = owner;
    this.#clock = clock;
    this.#counters = counters;
    this.#turns = turns;
    this.#receiver = receiver;
    this.#port = port;
    this.client = port.open(this);
    this.#handshakeTimer = clock.setTimer(HANDSHAKE_TIMEOUT_MS, () => {
      this.goodbye('MALFORMED', `no hello within ${HANDSHAKE_TIMEOUT_MS} ms; send hello as the first message`);
    });
    connection.setHandler({ frame: (bytes) => this.#frame(bytes), close: () => this.#gone() });
  }

  get remoteAddress(): string {
    return this.#connection.remoteAddress;
  }

  get open(): boolean {
    return this.phase !== 'closed';
  }

  get unreadBytes(): number {
    return this.#connection.bufferedBytes;
  }

  /** It has so much to read that answers should wait. */
  get isBehind(): boolean {
    return this.#connection.bufferedBytes > MAX_UNREAD_BEFORE_ANSWER_BYTES;
  }

  get hearsOfHolds(): boolean {
    return hasFeature(this.features, ClientFeature.floors);
  }

  greeted(): void {
    this.phase = 'greeted';
    this.#connection.admit();
    this.#handshakeTimer?.cancel();
    this.#handshakeTimer = undefined;
  }

  /** Joins the turn's frame. */
  send(message: ServerMessage): void {
    if (this.phase === 'closed') return;
    if (this.#outbox === undefined) {
      this.#outbox = [message];
      this.#owner.dirty(this);
    } else this.#outbox.push(message);
    // Large answers leave early, so that what a slow reader has not read shows in the connection's buffer.
    const answer = message.type === 'answer' || message.type === 'watching' ? message.answer : undefined;
    if (answer !== undefined) {
      this.#outboxDataBytes += answers.size(answer);
      if (this.#outboxDataBytes > MAX_FRAME_BYTES / 2) this.flush();
    }
  }

  flush(): void {
    const messages = this.#outbox;
    if (this.phase === 'closed' || messages === undefined) return;
    this.#outbox = undefined;
    this.#outboxDataBytes = 0;
    this.#sendFrames(messages);
    const { bufferedBytes } = this.#connection;
    // Nearly always the system takes everything at once.
    if (bufferedBytes === 0) return;
    const limit = this.client.session === 0 ? MAX_SESSIONLESS_BUFFERED_BYTES : MAX_BUFFERED_BYTES;
    if (bufferedBytes > limit) {
      this.goodbye('OVERLOADED', `over ${limit} bytes wait to be read; read faster or ask for less`);
    }
    this.#owner.unread(this);
  }

  cutOff(problem: string): void {
    this.goodbye('OVERLOADED', problem);
    this.#connection.destroy();
  }

  /** Says why, and closes. `againInMs`: when this client is welcome. */
  goodbye(code: ErrorCode, message: string, againInMs?: number): void {
    if (this.phase === 'closed') return;
    const messages = this.#outbox ?? [];
    messages.push({ type: 'goodbye', code, message, ...(againInMs === undefined ? {} : { againInMs }) });
    this.#counters.goodbye(code);
    this.#owner.dismissed(this, code, message);
    this.#sendFrames(messages);
    this.#end();
    this.#connection.close(code);
    if (!this.#connection.open) return;
    const connection = this.#connection;
    this.#clock.setTimer(CLOSE_GRACE_MS, () => connection.destroy());
  }

  handleDeferred(atMost: number): boolean {
    for (let left = atMost; left > 0;) {
      const [frame] = this.#deferred;
      if (frame === undefined) return false;
      const count = Math.min(left, frame.remaining);
      this.#handle(frame, count);
      left -= Math.max(1, count);
      if (this.#isClosed()) return false;
      if (frame.remaining > 0) continue;
      this.#deferred.shift();
      this.#turns.handled(this, frame.bytes);
    }
    return this.#deferred.length > 0;
  }

  tooMuchDeferred(problem: string): void {
    this.goodbye('OVERLOADED', problem);
  }

  #frame(bytes: Uint8Array): void {
    if (this.phase === 'closed') return;
    this.#counters.framesIn += 1;
    this.heard = true;
    const frame = this.#open(bytes);
    if (frame === undefined) return;
    if (this.#deferred.length === 0) {
      this.#handle(frame, this.#turns.take(this, frame.remaining));
      if (frame.remaining === 0 || this.#isClosed()) return;
    }
    // Its memory is used again by whoever has received it.
    this.#deferred.push(frame.copy());
    this.#turns.defer(this, frame.bytes);
  }

  #handle(frame: ClientFrame, count: number): void {
    for (let left = count; left > 0; left -= 1) {
      // Read anew each time: handling a message may close the connection.
      if (this.#isClosed()) return;
      const message = this.#next(frame);
      if (message === undefined) return;
      this.#receiver.received(this, message);
    }
  }

  /** Undefined when it is malformed, which ends the connection. */
  #open(bytes: Uint8Array): ClientFrame | undefined {
    try {
      return new ClientFrame(bytes);
    } catch (error) {
      return this.#malformed(error);
    }
  }

  /** Undefined when it is malformed, which ends the connection. */
  #next(frame: ClientFrame): ClientMessage | undefined {
    try {
      return frame.next();
    } catch (error) {
      return this.#malformed(error);
    }
  }

  #malformed(error: unknown): undefined {
    if (!(error instanceof MalformedError)) throw error;
    this.goodbye('MALFORMED', error.message);
  }

  #sendFrames(messages: readonly ServerMessage[]): void {
    const frame = encodeServerFrame(messages);
    if (frame.length <= MAX_FRAME_BYTES || messages.length === 1) {
      this.#counters.framesOut += 1;
      this.sentBytes += frame.length;
      this.#connection.send(frame);
      return;
    }
    const half = messages.length >> 1;
    this.#sendFrames(messages.slice(0, half));
    this.#sendFrames(messages.slice(half));
  }

  #gone(): void {
    this.#end();
    this.#owner.gone(this);
  }

  #isClosed(): boolean {
    return this.phase === 'closed';
  }

  #end(): void {
    if (this.phase === 'closed') return;
    this.phase = 'closed';
    this.#outbox = undefined;
    this.#deferred = [];
    this.#turns.gone(this);
    this.#handshakeTimer?.cancel();
    this.#owner.closed(this);
    this.#port.close(this.client);
  }
}
