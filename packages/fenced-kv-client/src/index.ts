/** The client of a fenced-kvd. It holds no connection of its own and needs no closing. */

import { Bucket } from './bucket.ts';
import { FencedKvError } from './errors.ts';
import type { Fetch, TransportOptions } from './transport.ts';

export * from './bucket.ts';
export type { Change, RevisionChanges } from './changes.ts';
export * from './errors.ts';
export type { Fetch } from './transport.ts';

export interface FencedKvOptions {
  /** @default the global `fetch` */
  readonly fetch?: Fetch;
  /** The bound on one call's answer; a write that had none may still happen. @default 10,000 */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;

/** Looked up at each call, so that what replaces the global `fetch` later counts. */
const globalFetch: Fetch = async (input, init) => await globalThis.fetch(input, init);

export class FencedKv {
  readonly #transport: TransportOptions;

  /** `url`: where the server listens, such as `http://127.0.0.1:7400`. */
  constructor(url: string, { fetch = globalFetch, timeoutMs = DEFAULT_TIMEOUT_MS }: FencedKvOptions = {}) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      throw new FencedKvError(
        'INVALID_ARGUMENT',
        `${JSON.stringify(url)} is not an http URL such as http://127.0.0.1:7400`,
      );
    }
    this.#transport = { url: url.replace(/\/+$/, ''), fetch, timeoutMs };
  }

  /** Calls through it carry no token; {@link Bucket.fencedBy} gives one whose calls do. */
  bucket(name: string): Bucket {
    return new Bucket(this.#transport, name);
  }
}
