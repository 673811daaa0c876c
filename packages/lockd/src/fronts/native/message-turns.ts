/**
 * How many messages of clients are handled in a turn of the event loop: a frame may hold sixteen thousand, and a chunk several such frames.
 * A turn handles as many as come, up to a number of all connections together, and a few of each connection in any case; the rest of a
 * frame, and what its connection sends behind it, waits for paced turns in which such connections alternate. What waits is bounded: beyond
 * the bound the connection goes that has the most.
 */

import { PacedTurns, type Clock } from '@holdfast/runtime';
import {
  MAX_DEFERRED_FRAME_BYTES,
  MAX_MESSAGES_A_TURN,
  MESSAGE_REST_FACTOR,
  MIN_MESSAGES_A_TURN,
} from '../../limits.ts';

/** What a source has had handled in its newest turn. Kept by the source, so that a turn allocates nothing for it. */
export class TurnShare {
  turn = 0;
  handled = 0;
}

export interface MessageSource {
  readonly share: TurnShare;
  /** Handles so many of what waits, or all that is left; false when nothing is left. */
  handleDeferred(atMost: number): boolean;
  /** Ends it: too much waits of all connections, and of this one most. */
  tooMuchDeferred(problem: string): void;
}

export class MessageTurns {
  readonly #clock: Clock;
  readonly #turns: PacedTurns;
  readonly #endTurn = (): void => this.#nextTurn();
  #turn = 1;
  /** Of the present turn, of all sources together. */
  #handled = 0;
  #deferred = new Map<MessageSource, number>();
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turns = new PacedTurns(clock, MESSAGE_REST_FACTOR);
  }

  /** Of frames that have not been handled to their end. */
  get deferredBytes(): number {
    return this.#bytes;
  }

  /** Of `wanted` messages, how many may be handled now; they count as handled. */
  take(source: MessageSource, wanted: number): number {
    if (this.#handled === 0) this.#clock.afterPoll(this.#endTurn);
    const { share } = source;
    const before = share.turn === this.#turn ? share.handled : 0;
    const allowed = Math.max(MIN_MESSAGES_A_TURN - before, MAX_MESSAGES_A_TURN - this.#handled, 0);
    const taken = Math.min(wanted, allowed);
    this.#handled += taken;
    share.turn = this.#turn;
    share.handled = before + taken;
    return taken;
  }

  /** A frame of so many bytes, or the rest of one, waits behind what waits already. */
  defer(source: MessageSource, bytes: number): void {
    const before = this.#deferred.get(source);
    this.#deferred.set(source, (before ?? 0) + bytes);
    this.#bytes += bytes;
    if (before === undefined) this.#goOn(source);
    while (this.#bytes > MAX_DEFERRED_FRAME_BYTES) this.#endLargest();
  }

  /** A frame that waited has been handled. */
  handled(source: MessageSource, bytes: number): void {
    const before = this.#deferred.get(source);
    if (before === undefined) return;
    this.#deferred.set(source, before - bytes);
    this.#bytes -= bytes;
  }

  /** Nothing of it waits any more. */
  gone(source: MessageSource): void {
    this.#bytes -= this.#deferred.get(source) ?? 0;
    this.#deferred.delete(source);
  }

  stop(): void {
    this.#turns.stop();
  }

  #nextTurn(): void {
    this.#handled = 0;
    this.#turn += 1;
  }

  #goOn(source: MessageSource): void {
    this.#turns.add(() => {
      if (!this.#deferred.has(source)) return;
      if (source.handleDeferred(MIN_MESSAGES_A_TURN)) this.#goOn(source);
      else this.gone(source);
    });
  }

  #endLargest(): void {
    let largest: MessageSource | undefined;
    let most = -1;
    for (const [source, bytes] of this.#deferred) {
      if (bytes <= most) continue;
      largest = source;
      most = bytes;
    }
    if (largest === undefined) return;
    this.gone(largest);
    largest.tooMuchDeferred(
      `over ${MAX_DEFERRED_FRAME_BYTES} bytes of many small messages wait to be handled, and this client's are the most; send fewer`,
    );
  }
}
