/**
 * Brings the newest snapshot to one peer, over a connection of its own, a few pieces ahead of their acknowledgements and no faster than
 * its throttle lets it. What breaks off goes on where it stood; whoever started it ends it when the peer needs it no more. A change of leader breaks
 * nothing off: whoever led brings to its end what the peer goes on taking.
 */

import { MalformedError } from '@holdfast/protocol';
import type { Address, Clock, Connection, Logger, Network, Random, Throttle, Timer } from '@holdfast/runtime';
import type { LogIndex, ServerId, Term } from '../core/index.ts';
import type { SnapshotSource } from '../log-store/contract/snapshot.ts';
import { IMPOSTOR, type DialledGreeting } from '../peers/greeting.ts';
import { MAX_PEER_FRAME_BYTES } from '../peers/peer-codec.ts';
import { decodeSnapshotMessage, encodeSnapshotMessage, type SnapshotMessage } from './snapshot-codec.ts';
import {
  MAX_CHUNKS_IN_FLIGHT,
  TRANSFER_RETRY_MAX_MS,
  TRANSFER_RETRY_MIN_MS,
  TRANSFER_STALL_MS,
  URGENCY_CHECK_MS,
} from './snapshot-options.ts';

const DIAL_TIMEOUT_MS = 1_000;

type Greeting = Pick<DialledGreeting, 'hello' | 'challenged' | 'challengedBy' | 'satisfied' | 'proof'>;

export interface SnapshotSenderParts {
  readonly address: Address;
  readonly peer: ServerId;
  /** What is urgent waits for neither the rate nor the rests. */
  readonly throttle: Throttle;
  /** A new one for each connection. */
  greeting(): Greeting;
  openSnapshot(): Promise<SnapshotSource | undefined>;
  /** Whether nothing can be committed before the peer has it: then it goes as fast as it can. */
  urgent(): boolean;
  /** In which this server leads, or led when it was asked for the snapshot. */
  readonly leaderTerm: Term;
  logBase(): LogIndex;
  /** Whether the log goes on from there, so that a snapshot of it is still worth sending. */
  reachesBack(index: LogIndex): boolean;
  sent(index: LogIndex): void;
  failed(error: unknown): void;
}

export interface SnapshotSenderWorld {
  readonly clock: Clock;
  readonly network: Network;
  readonly random: Random;
  readonly logger: Logger;
}

export class SnapshotSender {
  readonly #parts: SnapshotSenderParts;
  readonly #world: SnapshotSenderWorld;
  #source: SnapshotSource | undefined;
  #connection: Connection | undefined;
  #stopped = false;
  #attempts = 0;
  /** Why the peer refused the last offer: one that does so again and again is logged once. */
  #refusal = '';
  #timer: Timer | undefined;
  /** Until the next attempt. */
  #resting = false;
  /** What had come on the connection when the one for the log was lost; undefined while that is there. */
  #receivedBefore: number | undefined;
  #inFlight = 0;
  /** The throttle holds the next chunk back. */
  #waitsForTurn = false;
  /** Ends the wait for an acknowledgement, or for the end of the connection. */
  #heard: (() => void) | undefined;

  constructor(parts: SnapshotSenderParts, world: SnapshotSenderWorld) {
    this.#parts = parts;
    this.#world = world;
  }

  /** The peer is being spoken to. */
  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** Of the snapshot under way. */
  get index(): LogIndex | undefined {
    return this.#source?.info.index;
  }

  start(): void {
    this.#resting = false;
    this.#attempt().catch((error: unknown) => this.#parts.failed(error));
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#timer?.cancel();
    this.#disconnect();
    this.#closeSource();
  }

  /** The connection for the log was lost: perhaps this one gets nothing through either. */
  peerLost(): void {
    this.#receivedBefore = this.#connection?.receivedBytes;
  }

  /** The peer can be spoken to again: what waits need not, and a connection on which nothing has come since is not trusted. */
  peerConnected(): void {
    const before = this.#receivedBefore;
    this.#receivedBefore = undefined;
    if (this.#stopped) return;
    if (this.#connection !== undefined && this.#connection.receivedBytes === before)
      this.#retryLater('nothing was heard since the peer was lost');
    if (!this.#resting) return;
    this.#timer?.cancel();
    this.start();
  }

  async #attempt(): Promise<void> {
    this.#attempts += 1;
    const source = await this.#openSource();
    if (source === undefined) return;
    let connection: Connection;
    try {
      const { address } = this.#parts;
      connection = await this.#world.network.dial({
        address,
        timeoutMs: DIAL_TIMEOUT_MS,
        maxFrameBytes: MAX_PEER_FRAME_BYTES,
      });
    } catch {
      this.#retryLater('the peer cannot be reached');
      return;
    }
    if (this.#stopped) connection.destroy();
    else this.#begin(connection, source);
  }

  /** The one that was begun, for as long as it is of use: what has arrived of it would be lost with another. */
  async #openSource(): Promise<SnapshotSource | undefined> {
    const present = this.#source;
    if (present !== undefined && this.#parts.reachesBack(present.info.index)) return present;
    this.#closeSource();
    const source = await this.#parts.openSnapshot();
    if (this.#stopped) {
      await source?.close();
      return undefined;
    }
    this.#source = source;
    return source;
  }

  #begin(connection: Connection, source: SnapshotSource): void {
    this.#connection = connection;
    this.#inFlight = 0;
    this.#waitsForTurn = false;
    const greeting = this.#parts.greeting();
    let welcome = false;
    connection.setHandler({
      frame: (frame) => {
        if (welcome) this.#onFrame(connection, frame);
        else if (greeting.challenged) {
          welcome = true;
          if (this.#connection === connection) this.#offer(source);
        } else this.#prove(connection, greeting, frame);
      },
      close: (reason) => {
        if (this.#connection === connection) this.#retryLater(reason);
      },
    });
    connection.send(greeting.hello);
    this.#expectAnswer();
  }

  #prove(connection: Connection, greeting: Greeting, frame: Uint8Array): void {
    if (this.#connection !== connection) return;
    try {
      greeting.challengedBy(frame);
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error;
      this.#retryLater('it greets in another way');
      return;
    }
    if (greeting.satisfied) connection.send(greeting.proof);
    else this.#retryLater(IMPOSTOR);
  }

  #offer(source: SnapshotSource): void {
    const { index, term, bytes, crc, configuration } = source.info;
    const { leaderTerm } = this.#parts;
    this.#say({ type: 'offer', leaderTerm, logBase: this.#parts.logBase(), index, term, bytes, crc, configuration });
    this.#expectAnswer();
  }

  #onFrame(connection: Connection, frame: Uint8Array): void {
    if (this.#connection !== connection) return;
    try {
      this.#received(decodeSnapshotMessage(frame));
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error;
      this.#world.logger.error(
        { peer: this.#parts.peer, err: error },
        'a peer answered a snapshot with a malformed frame',
      );
      this.#retryLater('malformed answer');
    }
  }

  #received(message: SnapshotMessage): void {
    this.#expectAnswer();
    switch (message.type) {
      case 'resume':
        this.#pump(message.offset).catch((error: unknown) => this.#parts.failed(error));
        return;
      case 'written':
        this.#inFlight = Math.max(0, this.#inFlight - 1);
        this.#attempts = 0;
        this.#heard?.();
        return;
      case 'installed': {
        const { index } = message;
        this.stop();
        this.#parts.sent(index);
        return;
      }
      case 'refused':
        this.#refused(message.reason);
        return;
      case 'offer':
      case 'chunk':
      case 'end':
        throw new MalformedError(`a receiver says ${message.type}`);
    }
  }

  #refused(reason: string): void {
    const fields = { peer: this.#parts.peer, index: this.index, reason };
    if (reason !== this.#refusal)
      this.#world.logger.warn(fields, 'a peer refuses a snapshot; it is offered again later');
    this.#refusal = reason;
    this.#againLater();
  }

  async #pump(from: number): Promise<void> {
    const [connection, source] = [this.#connection, this.#source];
    if (connection === undefined || source === undefined) return;
    const { info } = source;
    const { logger } = this.#world;
    const peer = this.#parts.peer;
    logger.info({ peer, index: info.index, bytes: info.bytes, offset: from }, 'sending a snapshot');
    // A chunk is copied into its message.
    const room = new Uint8Array(source.roomBytes);
    for (let offset = from; offset < info.bytes;) {
      while (this.#inFlight >= MAX_CHUNKS_IN_FLIGHT && this.#connection === connection) {
        await new Promise<void>((resolve) => (this.#heard = resolve));
      }
      if (this.#connection !== connection) return;
      const data = await source.read(offset, room);
      if (this.#connection !== connection) return;
      this.#waitsForTurn = true;
      await this.#parts.throttle.take(data.length, {
        isUrgent: () => this.#parts.urgent(),
        checkMs: URGENCY_CHECK_MS,
      });
      if (this.#connection !== connection) return;
      this.#waitsForTurn = false;
      this.#inFlight += 1;
      this.#parts.throttle.run(() => this.#say({ type: 'chunk', offset, data }));
      offset += data.length;
    }
    this.#say({ type: 'end' });
  }

  #say(message: SnapshotMessage): void {
    this.#connection?.send(encodeSnapshotMessage(message));
  }

  #expectAnswer(): void {
    this.#timer?.cancel();
    this.#timer = this.#world.clock.setTimer(TRANSFER_STALL_MS, () => {
      // A peer that was sent nothing owes no answer.
      if (this.#waitsForTurn && this.#inFlight === 0) this.#expectAnswer();
      else this.#retryLater('no answer');
    });
  }

  #retryLater(reason: string): void {
    if (this.#stopped) return;
    this.#world.logger.info({ peer: this.#parts.peer, reason }, 'the transfer of a snapshot will go on later');
    this.#againLater();
  }

  #againLater(): void {
    if (this.#stopped) return;
    this.#disconnect();
    const { random, clock } = this.#world;
    const ceiling = Math.min(TRANSFER_RETRY_MAX_MS, TRANSFER_RETRY_MIN_MS * 2 ** Math.min(this.#attempts, 10));
    this.#timer?.cancel();
    this.#resting = true;
    this.#timer = clock.setTimer(ceiling * (0.5 + random.next() / 2), () => this.start());
  }

  #disconnect(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.destroy();
    this.#heard?.();
  }

  #closeSource(): void {
    const source = this.#source;
    this.#source = undefined;
    source?.close().catch((error: unknown) => this.#parts.failed(error));
  }
}
