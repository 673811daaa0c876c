/**
 * A bucket's changes on their way to one client, as server-sent events: one for each revision, whose id it is. A client that comes back
 * sends the last id that it has seen. Heartbeats say that the connection lives; a client that takes nothing for a while is cut off.
 */

import type { Following } from '../changes/change-feed.ts';
import { CHANGES_HEARTBEAT_MS, VALUE_CHUNK_TIMEOUT_MS } from '../limits.ts';

export interface ChangeSource {
  /** What comes after a revision. @throws EngineError */
  after(revision: number): Following;
  /** Calls back once, at the next change or the end. Returns how to take that back. */
  onNext(callback: () => void): () => void;
  /** Nothing follows any more. */
  readonly closed: boolean;
}

export interface ChangeStreamOptions {
  readonly from: number;
  /** Called once, when nobody follows any more. */
  readonly ended: () => void;
  /** @default 15,000 */
  readonly heartbeatMs?: number | undefined;
  /** @default 30,000 */
  readonly readTimeoutMs?: number | undefined;
}

export function streamChanges(
  source: ChangeSource,
  options: ChangeStreamOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const events = new ChangeEvents(source, options);
  return new ReadableStream({ pull: (controller) => events.pull(controller), cancel: () => events.cancel() });
}

/** What is used of a stream's. */
interface Controller {
  enqueue(chunk: Uint8Array<ArrayBuffer>): void;
  close(): void;
  error(reason: unknown): void;
}

class ChangeEvents {
  readonly #source: ChangeSource;
  readonly #options: ChangeStreamOptions;
  #revision: number;
  #begun = false;
  #timer: NodeJS.Timeout | undefined;
  #stopWaiting: () => void = () => {};
  #ended = false;

  constructor(source: ChangeSource, options: ChangeStreamOptions) {
    this.#source = source;
    this.#options = options;
    this.#revision = options.from;
  }

  /** Asked for when what was sent before has been taken. */
  async pull(controller: Controller): Promise<void> {
    clearTimeout(this.#timer);
    try {
      const text = this.#begun ? await this.#next() : this.#begin();
      if (this.#ended) return;
      if (text === undefined) {
        this.#end();
        controller.close();
        return;
      }
      controller.enqueue(new TextEncoder().encode(text));
    } catch (error) {
      this.#end();
      throw error;
    }
    const { readTimeoutMs = VALUE_CHUNK_TIMEOUT_MS } = this.#options;
    this.#timer = setTimeout(() => {
      this.#end();
      controller.error(new Error(`no event was taken for ${readTimeoutMs} ms`));
    }, readTimeoutMs);
  }

  cancel(): void {
    this.#end();
  }

  /** So that a client has something to come back with before anything has changed. */
  #begin(): string {
    this.#begun = true;
    return `event: from\nid: ${this.#revision}\ndata: {"revision":${this.#revision}}\n\n`;
  }

  /** Undefined at the end. */
  async #next(): Promise<string | undefined> {
    if (this.#source.closed) return undefined;
    const present = this.#events();
    if (present !== '') return present;
    await this.#change();
    if (this.#ended || this.#source.closed) return undefined;
    const events = this.#events();
    return events === '' ? ': heartbeat\n\n' : events;
  }

  #events(): string {
    const following = this.#source.after(this.#revision);
    // It comes back with the last id that it has seen, and is told then.
    if (following.type === 'missed') throw new Error('the client is too slow for the history of changes');
    let text = '';
    for (const { revision, changes } of following.revisions) {
      text += `event: change\nid: ${revision}\ndata: ${JSON.stringify({ revision, changes })}\n\n`;
      this.#revision = revision;
    }
    return text;
  }

  /** Resolves at the next change, the end, or when it is time for a heartbeat. */
  async #change(): Promise<void> {
    await new Promise<void>((resolve) => {
      const takeBack = this.#source.onNext(resolve);
      const timer = setTimeout(resolve, this.#options.heartbeatMs ?? CHANGES_HEARTBEAT_MS);
      this.#stopWaiting = () => {
        takeBack();
        clearTimeout(timer);
        resolve();
      };
    });
    this.#stopWaiting();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#stopWaiting();
    this.#options.ended();
  }
}
