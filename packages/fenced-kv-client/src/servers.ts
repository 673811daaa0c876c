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
  /** Where the next call goes; undefined: of a group that is looked for at its ensemble, no address is known yet. */
  readonly url: string | undefined;
  /** Why no address is known, as far as that is known. */
  readonly absence: FencedKvError | undefined;
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
  return {
    url,
    absence: undefined,
    epoch: undefined,
    shareOfRead: 1,
    answered() {},
    failed: () => undefined,
    onNews: () => () => {},
  };
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
  readonly #given: readonly string[];
  readonly #listeners = new Set<() => void>();
  #known: readonly string[];
  #url: string | undefined;
  #absence: FencedKvError | undefined;
  #epoch: number | undefined;

  /** `urls`: none where they are {@link registered}. */
  constructor(urls: readonly string[]) {
    this.#given = urls;
    this.#known = urls;
    [this.#url] = urls;
  }

  get url(): string | undefined {
    return this.#url;
  }

  get absence(): FencedKvError | undefined {
    return this.#absence;
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

  /** The http addresses that the replicas have told the ensemble. Those that were given count instead, where there are any. */
  registered(urls: readonly string[]): void {
    if (this.#given.length > 0) return;
    this.#known = [...new Set(urls.map(withoutSlash))];
    if (this.#url === undefined || !this.#known.includes(this.#url)) [this.#url] = this.#known;
    this.#tell();
  }

  /** Why there are none, while there are none. */
  absent(reason: FencedKvError | undefined): void {
    this.#absence = reason;
    this.#tell();
  }

  /** The configuration of the group names this one. */
  told(url: string, epoch: number): void {
    if (epoch < (this.#epoch ?? 0)) return;
    this.#goTo(url);
    this.#tell();
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
    const plain = withoutSlash(url);
    if (!this.#known.includes(plain)) this.#known = [...this.#known, plain];
    this.#url = plain;
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

export function isHttp(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
