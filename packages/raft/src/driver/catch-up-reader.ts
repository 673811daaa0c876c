/**
 * Reads what lagging followers need, from memory or from disk, and hands it to the core at a pace: after a turn that sent such entries
 * the event loop has more time for everything else than the turn took. For all peers together, in the order in which they asked; but
 * what nothing can be committed without comes first, and without rests.
 */

import { Throttle, type Clock, type Timer } from '@holdfast/runtime';
import type { Effect, Entry, LogIndex, RaftEvent } from '../core/index.ts';
import type { LogStore } from '../log-store/contract/log-store.ts';

/** After a turn that sent what a peer lacked, the loop is left without such work for so many times as long as the turn took. */
export const CATCH_UP_REST_FACTOR = 4;
/** But at most this long, so that a leader that is busy with other things reads for them, too. */
export const MAX_CATCH_UP_REST_MS = 20;

type ReadEntries = Extract<Effect, { type: 'read-entries' }>;

export interface CatchUpReaderParts {
  readonly store: Pick<LogStore, 'read'>;
  readonly clock: Clock;
  /** Undefined for what is no longer in memory. */
  fromMemory(from: LogIndex, to: LogIndex, maxBytes: number): readonly Entry[] | undefined;
  event(event: RaftEvent): void;
  failed(error: unknown): void;
}

export class CatchUpReader {
  readonly #parts: CatchUpReaderParts;
  readonly #throttle: Throttle;
  #waiting: ReadEntries[] = [];
  #timer: Timer | undefined;
  /** One is fetched for, or was delivered to the core and not sent yet. */
  #busy = false;
  #delivered = false;
  #stopped = false;

  constructor(parts: CatchUpReaderParts) {
    this.#parts = parts;
    const throttle = { restFactor: CATCH_UP_REST_FACTOR, maxRestMs: MAX_CATCH_UP_REST_MS };
    this.#throttle = new Throttle(throttle, parts.clock);
  }

  wanted(request: ReadEntries): void {
    if (request.urgent) {
      this.#waiting.unshift(request);
      this.#timer?.cancel();
      this.#timer = undefined;
    } else this.#waiting.push(request);
    this.#readLater();
  }

  /** The turn took so long, with everything that was in it. */
  endTurn(tookMs: number): void {
    if (!this.#delivered) return;
    this.#delivered = this.#busy = false;
    this.#throttle.worked(tookMs);
    this.#readLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#waiting = [];
  }

  #readLater(): void {
    if (this.#waiting.length === 0 || this.#busy || this.#timer !== undefined || this.#stopped) return;
    const restMs = this.#waiting[0]?.urgent === true ? 0 : this.#throttle.waitMs();
    if (restMs <= 0) {
      this.#readNext();
      return;
    }
    this.#timer = this.#parts.clock.setTimer(restMs, () => {
      this.#timer = undefined;
      this.#readLater();
    });
  }

  #readNext(): void {
    const request = this.#waiting.shift();
    if (request === undefined) return;
    this.#busy = true;
    this.#fetch(request).then(
      (entries) => {
        const { peer, term } = request;
        if (this.#stopped) return;
        this.#delivered = true;
        this.#parts.event({ type: 'entries-read', peer, term, entries });
      },
      (error: unknown) => this.#parts.failed(error),
    );
  }

  async #fetch({ from, to, maxBytes }: ReadEntries): Promise<readonly Entry[]> {
    const { store } = this.#parts;
    return this.#parts.fromMemory(from, to, maxBytes) ?? (await store.read(from, to, maxBytes));
  }
}
