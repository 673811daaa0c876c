/** To which server a call goes, and whether and where it goes again. One store has one server; of a group, one replica at a time serves. */

import type { FencedKvError } from './errors.ts';
import { NotPrimaryError } from './errors.ts';

/** What became of a try. */
export interface FailedTry {
  readonly url: string;
  readonly error: FencedKvError;
  /** It was sent to read, so it may be sent again whatever became of it. */
  readonly reads: boolean;
  /** Its body was a stream, which is used up. */
  readonly streamed: boolean;
}

export interface Servers {
  /** Where the next call goes. */
  readonly url: string;
  /** The latest epoch of the group that an answer has told; undefined: none has. */
  readonly epoch: number | undefined;
  /** How much of the time for a read one server may take: another may be the primary. From 0 to 1. */
  readonly shareOfRead: number;
  answered(epoch: number): void;
  /** After how many milliseconds it is sent again, to {@link url}; undefined: it is not. */
  failed(tried: FailedTry): number | undefined;
  /** Calls back at the next news of who is primary. Returns how to take that back. */
  onNews(callback: () => void): () => void;
}

/** Nothing is ever sent twice. */
export function oneServer(url: string): Servers {
  return { url, epoch: undefined, shareOfRead: 1, answered() {}, failed: () => undefined, onNews: () => () => {} };
}

const PAUSE_MS = 50;
const SHARE_OF_READ = 0.25;
/** What is known of the server alone: another one may answer. */
const OF_THE_SERVER: readonly string[] = ['CONNECTION', 'TIMEOUT', 'CLOSED', 'DISK_ERROR', 'NOT_PRIMARY', 'PROTOCOL'];

/**
 * The replicas of a group. A call goes to the one that has answered last, or that another has named as primary. It is sent again where it
 * certainly changed nothing: a read, and a write that no server has taken.
 */
export class GroupServers implements Servers {
  readonly shareOfRead = SHARE_OF_READ;
  readonly #known: string[];
  readonly #listeners = new Set<() => void>();
  #url: string;
  #epoch: number | undefined;

  /** `urls`: at least one. */
  constructor(urls: readonly [string, ...string[]]) {
    this.#known = [...urls];
    [this.#url] = urls;
  }

  get url(): string {
    return this.#url;
  }

  get epoch(): number | undefined {
    return this.#epoch;
  }

  answered(epoch: number): void {
    this.#epoch = Math.max(this.#epoch ?? 0, epoch);
  }

  failed({ url, error, reads, streamed }: FailedTry): number | undefined {
    if (!OF_THE_SERVER.includes(error.code)) return undefined;
    const pauseMs = this.#moveOn(url, error);
    const nothingHappened = !error.indeterminate && error.retryable;
    return !streamed && (reads ? error.retryable : nothingHappened) ? pauseMs : undefined;
  }

  /** The configuration of the group names this one. */
  told(url: string, epoch: number): void {
    if (epoch < (this.#epoch ?? 0)) return;
    this.#goTo(url);
    for (const listener of this.#listeners) listener();
  }

  onNews(callback: () => void): () => void {
    this.#listeners.add(callback);
    return () => this.#listeners.delete(callback);
  }

  #moveOn(tried: string, error: FencedKvError): number {
    // Another call has found a better one meanwhile.
    if (tried !== this.#url) return 0;
    if (error instanceof NotPrimaryError) {
      const { primary, epoch } = error;
      const named = primary?.url;
      if (typeof named === 'string' && named !== tried && epoch >= (this.#epoch ?? 0) && isHttp(named)) {
        this.#goTo(named);
        return 0;
      }
      // It is to be primary, and may serve in a moment.
      if (named === tried) return PAUSE_MS;
    }
    const at = this.#known.indexOf(tried);
    this.#url = this.#known[(at + 1) % this.#known.length] ?? tried;
    return PAUSE_MS;
  }

  #goTo(url: string): void {
    const plain = url.replace(/\/+$/, '');
    if (!this.#known.includes(plain)) this.#known.push(plain);
    this.#url = plain;
  }
}

export function isHttp(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
