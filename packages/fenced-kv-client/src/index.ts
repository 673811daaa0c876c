/** The client of a fenced-kvd. It holds no connection of its own and needs no closing. */

import { Bucket } from './bucket.ts';
import { FencedKvError } from './errors.ts';
import { CLIENT_OPTIONS, checkOptions } from './options.ts';
import type { Fetch, FencedKvOptions, TransportOptions } from './transport.ts';

export * from './bucket.ts';
export type * from './bucket-types.ts';
export type { Change, RevisionChanges } from './changes.ts';
export * from './errors.ts';
export type { FencedKvOptions, Fetch } from './transport.ts';

const DEFAULT_TIMEOUT_MS = 10_000;

/** Looked up at each call, so that what replaces the global `fetch` later counts. */
const globalFetch: Fetch = async (input, init) => await globalThis.fetch(input, init);

export class FencedKv {
  readonly #transport: TransportOptions;

  /** `url`: where the server listens, such as `http://127.0.0.1:7400`. */
  constructor(url: string, options: FencedKvOptions = {}) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      throw new FencedKvError(
        'INVALID_ARGUMENT',
        `${JSON.stringify(url)} is not an http URL such as http://127.0.0.1:7400`,
      );
    }
    checkOptions('FencedKv', options, CLIENT_OPTIONS);
    const { fetch = globalFetch, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    this.#transport = { url: url.replace(/\/+$/, ''), fetch, timeoutMs };
  }

  /** Calls through it carry no token; {@link Bucket.fencedBy} gives one whose calls do. */
  bucket(name: string): Bucket {
    if (typeof name !== 'string') {
      throw new FencedKvError('INVALID_ARGUMENT', `a bucket's name is text; it was given ${String(name)}`);
    }
    return new Bucket(this.#transport, name);
  }
}
