/** What the client reports of its session and its locks. Listeners are called synchronously, in the order in which they were added. */

import type { Logger } from '@holdfast/runtime';
import type { LockWait } from './locks/waits/lock-wait.ts';

/**
 * `connected`: attached to a server, and renewing. `suspended`: no server reached; holds are good until their deadline.
 * `expired`: the ensemble has ended the session; this client is over. `closed`: `close()` was called.
 */
export type ClientState = 'connected' | 'suspended' | 'expired' | 'closed';

/** The client has changed its state. */
export interface ClientStateEvent {
  readonly type: ClientState;
  readonly sessionId: number;
  /** The server of the connection that was made or lost; undefined where there is none. */
  readonly server: string | undefined;
  /** Why, in words, for a log. */
  readonly reason: string;
}

/**
 * A lock was released and the ensemble did not say so in time. The release goes on in the background; until it arrives, or the session
 * ends, others wait for the lock. `release` rejects with `error` as well; the end of `withLock` or of an `await using` block does not.
 */
export interface ReleaseUnconfirmedEvent {
  readonly type: 'release-unconfirmed';
  readonly sessionId: number;
  /** Of several that were held at once, the first. */
  readonly lock: string;
  /** All that were held at once: one, unless they are of `client.locks`. */
  readonly locks: readonly string[];
  /** Of the hold that was released. */
  readonly token: number;
  /** What became of the call, such as a TimeoutError. */
  readonly error: unknown;
}

/**
 * An acquire waits for longer than `longWaitMs`; again each time that it has waited twice as long. It goes on waiting. Two who each wait for a
 * lock of the other find out so.
 */
export interface LongWaitEvent {
  readonly type: 'long-wait';
  readonly sessionId: number;
  /** Who holds the lock, since when, and how many are before. */
  readonly wait: LockWait;
}

export type ClientEvent = ClientStateEvent | ReleaseUnconfirmedEvent | LongWaitEvent;

/** The event that listeners of a type are given. */
export type ClientEventOf<T extends ClientEvent['type']> = T extends ClientState
  ? ClientStateEvent
  : Extract<ClientEvent, { readonly type: T }>;

export type ClientEventListener<T extends ClientEvent['type'] = ClientEvent['type']> = (
  event: ClientEventOf<T>,
) => void;

export class ClientEvents {
  readonly #logger: Logger;
  readonly #publish: (event: ClientEvent) => void;
  readonly #listeners = new Map<ClientEvent['type'], Set<(event: never) => void>>();

  /** @internal `publish` hears of every event before the listeners do. */
  constructor(logger: Logger, publish: (event: ClientEvent) => void) {
    this.#logger = logger;
    this.#publish = publish;
  }

  /**
   * Calls `listener` at every event of that type; returns what removes it again. What a listener throws is logged and goes no
   * further.
   */
  on<T extends ClientEvent['type']>(type: T, listener: ClientEventListener<T>): () => void {
    const listeners = this.#listeners.get(type) ?? new Set();
    // Added twice, a listener is called twice and removed once at a time.
    const own: ClientEventListener<T> = (event) => listener(event);
    listeners.add(own);
    this.#listeners.set(type, listeners);
    return () => {
      listeners.delete(own);
    };
  }

  /** @internal */
  emit(event: ClientEvent): void {
    this.#publish(event);
    for (const listener of this.#listeners.get(event.type) ?? []) {
      try {
        // Under a type there are listeners of that type only.
        listener(event as never);
      } catch (error) {
        this.#logger.error({ error, event: event.type }, 'a client event listener threw');
      }
    }
  }
}
