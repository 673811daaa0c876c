/**
 * What one side has to say in one turn of the event loop, sent as one frame in the check phase: after every readable socket has been
 * read, so that the replies to all of them leave together. Only a turn with very much to say is split into several frames.
 */

import { clientMessages, encodeClientFrame, type ClientMessage } from '@holdfast/protocol';
import type { Clock, Connection } from '@holdfast/runtime';
import { instantOf, type Instant } from '../session/lease.ts';

/** Far enough below the limit of a frame that one message of the largest size still fits on top. */
const SPLIT_BYTES = 1024 * 1024;

export class Outbox {
  readonly #clock: Clock;
  readonly #socket: Connection;
  /** Of this turn. Mostly one, for which an array that grows would take room for seventeen. */
  #messages: ClientMessage[] = [];
  #turn: Instant | undefined;
  readonly #flush = (): void => this.#send();

  constructor(clock: Clock, socket: Connection) {
    this.#clock = clock;
    this.#socket = socket;
  }

  /**
   * Queues the message for this turn's frame. Returns the moment at which the turn began to gather: never later than the moment
   * of sending, so it is what a lease may count from.
   */
  post(message: ClientMessage): Instant {
    if (this.#turn === undefined) {
      this.#turn = instantOf(this.#clock);
      this.#messages = [message];
      this.#clock.afterPoll(this.#flush);
    } else this.#messages.push(message);
    return this.#turn;
  }

  #send(): void {
    const messages = this.#messages;
    this.#messages = [];
    this.#turn = undefined;
    if (!this.#socket.open) return;
    if (messages.length === 1) {
      this.#socket.send(encodeClientFrame(messages));
      return;
    }
    let start = 0;
    let bytes = 0;
    let end = 0;
    for (const message of messages) {
      end += 1;
      bytes += clientMessages.size(message);
      if (bytes < SPLIT_BYTES) continue;
      this.#socket.send(encodeClientFrame(messages.slice(start, end)));
      start = end;
      bytes = 0;
    }
    if (start === messages.length) return;
    this.#socket.send(encodeClientFrame(start === 0 ? messages : messages.slice(start)));
  }
}
