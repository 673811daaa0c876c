/** The client of a fenced-kvd, or of a group of them. It holds no connection of its own; one that follows a group by watch is closed. */

import { Bucket } from './bucket.ts';
import { FencedKvError } from './errors.ts';
import { followGroup } from './follow-group.ts';
import { CLIENT_OPTIONS, checkOptions, FOLLOW_OPTIONS } from './options.ts';
import { GroupServers, isHttp, oneServer } from './servers.ts';
import type { Fetch, FencedKvOptions, TransportOptions } from './transport.ts';

export * from './bucket.ts';
export type * from './bucket-types.ts';
export type { Change, RevisionChanges } from './changes.ts';
export * from './errors.ts';
export type { FollowOptions, GroupNodes } from './follow-group.ts';
export type { FencedKvOptions, Fetch } from './transport.ts';

const DEFAULT_TIMEOUT_MS = 10_000;

/** Looked up at each call, so that what replaces the global `fetch` later counts. */
const globalFetch: Fetch = async (input, init) => await globalThis.fetch(input, init);

/**
 * A store, or a group of replicas.
 *
 * @example
 * const kv = new FencedKv(['http://10.0.0.1:7400', 'http://10.0.0.2:7400', 'http://10.0.0.3:7400']);
 */
export class FencedKv {
  readonly #transport: TransportOptions;
  readonly #stop = new AbortController();

  /**
   * `url`: where the server listens, such as `http://127.0.0.1:7400`. A list, or `follow`, is for a group of replicas: calls go to the
   * primary, and one that certainly changed nothing is sent again, within `timeoutMs`. To one server nothing is ever sent twice.
   */
  constructor(url: string | readonly string[], options: FencedKvOptions = {}) {
    const urls = typeof url === 'string' ? [url] : url;
    if (!Array.isArray(urls) || urls.length === 0) {
      throw new FencedKvError('INVALID_ARGUMENT', 'a FencedKv takes an http URL, or a list of those of the replicas');
    }
    const plain = urls.map(plainUrl);
    checkOptions('FencedKv', options, CLIENT_OPTIONS);
    const { fetch = globalFetch, timeoutMs = DEFAULT_TIMEOUT_MS, follow } = options;
    const [first = ''] = plain;
    if (typeof url === 'string' && follow === undefined) {
      this.#transport = { servers: oneServer(first), fetch, timeoutMs };
      return;
    }
    const servers = new GroupServers([first, ...plain.slice(1)]);
    this.#transport = { servers, fetch, timeoutMs };
    if (follow === undefined) return;
    checkOptions('FencedKv: follow', follow, FOLLOW_OPTIONS);
    void followGroup(servers, follow, this.#stop.signal);
  }

  /** Ends `follow`; without it there is nothing to end. Calls work on. */
  close(): void {
    this.#stop.abort();
  }

  /** Calls through it carry no token; {@link Bucket.fencedBy} gives one whose calls do. */
  bucket(name: string): Bucket {
    if (typeof name !== 'string') {
      throw new FencedKvError('INVALID_ARGUMENT', `a bucket's name is text; it was given ${String(name)}`);
    }
    return new Bucket(this.#transport, name);
  }
}

function plainUrl(url: string): string {
  if (typeof url === 'string' && isHttp(url)) return url.replace(/\/+$/, '');
  throw new FencedKvError(
    'INVALID_ARGUMENT',
    `${JSON.stringify(url)} is not an http URL such as http://127.0.0.1:7400`,
  );
}
