/**
 * Tells a connection on which nothing is heard any more from one that is quiet. TCP would not: while what was sent is not acknowledged the
 * kernel tries again after ever longer pauses, and for about as long as a partition has lasted nothing gets through after its end either.
 * Each end therefore says something several times in an election timeout, an empty frame when there is nothing else, and closes a
 * connection on which no byte has come for two of them; the end that dialled dials again.
 */

import { pack } from '@holdfast/protocol';
import type { Connection } from '@holdfast/runtime';

export interface LinkTiming {
  /** How often connections are looked at. */
  readonly lookMs: number;
  /** Looks in a row at which no byte had come, after which nothing is heard any more. */
  readonly silentLooks: number;
  /** Between a dial that gets no answer and the next one, which may overtake it. */
  readonly redialMs: number;
}

/** Two servers with different election timeouts are still to hear each other often enough. */
const MAX_LOOK_MS = 250;
const MIN_SILENCE_MS = 1_000;
const MIN_REDIAL_MS = 250;
const MAX_REDIAL_MS = 1_000;
/** In a silence, so that some may be late. */
const LOOKS_A_SILENCE = 8;
/** Looks at which nothing had been sent, after which an empty frame is. */
const QUIET_LOOKS = 2;

export function linkTiming(electionTimeoutMs: number): LinkTiming {
  const silenceMs = Math.max(MIN_SILENCE_MS, 2 * electionTimeoutMs);
  const lookMs = Math.min(MAX_LOOK_MS, silenceMs / LOOKS_A_SILENCE);
  const redialMs = Math.min(MAX_REDIAL_MS, Math.max(MIN_REDIAL_MS, electionTimeoutMs / 2));
  return { lookMs, silentLooks: Math.ceil(silenceMs / lookMs), redialMs };
}

export function silenceMs({ lookMs, silentLooks }: LinkTiming): number {
  return lookMs * silentLooks;
}

/** A list of no items. */
const EMPTY_FRAME = pack([]);

export function isKeepAlive(frame: Uint8Array): boolean {
  return frame.length === EMPTY_FRAME.length && frame[0] === EMPTY_FRAME[0];
}

/** Of one connection whose other end says something now and then, too. */
export class LinkWatch {
  readonly #connection: Connection;
  readonly #silentLooks: number;
  #receivedBytes: number;
  #silent = 0;
  #quiet = 0;

  constructor(connection: Connection, { silentLooks }: LinkTiming) {
    this.#connection = connection;
    this.#silentLooks = silentLooks;
    this.#receivedBytes = connection.receivedBytes;
  }

  /** This end has sent something. */
  spoke(): void {
    this.#quiet = 0;
  }

  /**
   * Once in `lookMs`. However late it comes it counts as one: after a stall of this process the timer fires before what has arrived
   * meanwhile is read. False when nothing is heard any more.
   */
  look(): boolean {
    const { receivedBytes } = this.#connection;
    this.#silent = receivedBytes === this.#receivedBytes ? this.#silent + 1 : 0;
    this.#receivedBytes = receivedBytes;
    if (this.#silent >= this.#silentLooks) return false;
    this.#quiet += 1;
    if (this.#quiet >= QUIET_LOOKS) {
      this.#quiet = 0;
      this.#connection.send(Uint8Array.from(EMPTY_FRAME));
    }
    return true;
  }
}
