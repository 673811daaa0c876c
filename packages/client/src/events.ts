/** What the client tells of its session. Listeners are called synchronously, in the order in which they were added. */

import type { Logger } from '@holdfast/runtime';

/**
 * `connected`: attached to a server, and renewing. `suspended`: no server reached; holds are good until their deadline.
 * `expired`: the ensemble has ended the session; this client is over. `closed`: `close()` was called.
 */
export type ClientState = 'connected' | 'suspended' | 'expired' | 'closed';

export interface ClientEvent {
  readonly type: ClientState;
  readonly sessionId: number;
  /** The server of the connection that was made or lost; undefined where there is none. */
  readonly server: string | undefined;
  /** Why, in words, for a log. */
  readonly reason: string;
}

export type ClientEventListener = (event: ClientEvent) => void;

export class ClientEvents {
  readonly #logger: Logger;
  readonly #listeners = new Map<ClientState, Set<ClientEventListener>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Calls `listener` at every change to that state; returns what removes it again. What a listener throws is logged and goes no
   * further.
   */
  on(type: ClientState, listener: ClientEventListener): () => void {
    const listeners = this.#listeners.get(type) ?? new Set();
    // Added twice, a listener is called twice and removed once at a time.
    const own: ClientEventListener = (event) => listener(event);
    listeners.add(own);
    this.#listeners.set(type, listeners);
    return () => {
      listeners.delete(own);
    };
  }

  /** @internal */
  emit(event: ClientEvent): void {
    for (const listener of this.#listeners.get(event.type) ?? []) {
      try {
        listener(event);
      } catch (error) {
        this.#logger.error({ error, event: event.type }, 'a client event listener threw');
      }
    }
  }
}
