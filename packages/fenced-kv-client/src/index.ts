/** The client of a fenced-kvd, or of a group of them. It holds no connection of its own; one that follows a group by watch is closed. */

import { Bucket } from './bucket.ts';
import { FencedKvError } from './errors.ts';
import { followGroup } from './follow-group.ts';
import type { FollowOptions } from './follow-group.ts';
import { CLIENT_OPTIONS, checkFollow, checkOptions } from './options.ts';
import { GroupServers, isHttp, oneServer, withoutSlash } from './servers.ts';
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
 * const store = new FencedKv('http://127.0.0.1:7400');
 * const group = new FencedKv({ nodes: client.nodes, group: 'orders' });       // the ensemble knows where its replicas are
 * const fixed = new FencedKv(['http://10.0.0.1:7400', 'http://10.0.0.2:7400']);
 */
export class FencedKv {
  readonly #transport: TransportOptions;
  readonly #stop = new AbortController();

  /**
   * `where`: the address of a server, such as `http://127.0.0.1:7400`; a group in its ensemble, whose replicas are found and followed there;
   * or the addresses of a group. Of a group, calls go to the primary, and one that certainly changed nothing is sent again, within
   * `timeoutMs`. To one server nothing is ever sent twice. Calls reject with {@link GroupNotFoundError} while there is no such group.
   *
   * @throws FencedKvError INVALID_ARGUMENT
   */
  constructor(where: string | readonly string[] | FollowOptions, options: FencedKvOptions = {}) {
    checkOptions('FencedKv', options, CLIENT_OPTIONS);
    const { fetch = globalFetch, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    const follow = followed(where, options.follow);
    if (typeof where === 'string' && follow === undefined) {
      this.#transport = { servers: oneServer(plainUrl(where)), fetch, timeoutMs };
      return;
    }
    const servers = new GroupServers(urlsOf(where).map(plainUrl));
    this.#transport = { servers, fetch, timeoutMs };
    if (follow !== undefined) void followGroup(servers, follow, this.#stop.signal);
  }

  /** Ends following the group in its ensemble; without that there is nothing to end. Calls work on with the addresses that are known. */
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

/** @throws FencedKvError INVALID_ARGUMENT */
function followed(where: unknown, follow: FollowOptions | undefined): FollowOptions | undefined {
  const group = isGroup(where) ? where : undefined;
  if (group !== undefined && follow !== undefined) {
    throw new FencedKvError('INVALID_ARGUMENT', 'a FencedKv is given its group once: leave follow out');
  }
  if (group !== undefined) checkFollow('FencedKv', group);
  if (follow !== undefined) checkFollow('FencedKv: follow', follow);
  return group ?? follow;
}

/** None of a group that is looked for. @throws FencedKvError INVALID_ARGUMENT */
function urlsOf(where: string | readonly string[] | FollowOptions): readonly string[] {
  if (isGroup(where)) return [];
  const urls = typeof where === 'string' ? [where] : where;
  if (Array.isArray(urls) && urls.length > 0) return urls;
  throw new FencedKvError(
    'INVALID_ARGUMENT',
    'a FencedKv takes an http URL, a list of those of the replicas, or { nodes: client.nodes, group: "<name>" }',
  );
}

function isGroup(where: unknown): where is FollowOptions {
  return typeof where === 'object' && where !== null && !Array.isArray(where);
}

function plainUrl(url: string): string {
  if (typeof url === 'string' && isHttp(url)) return withoutSlash(url);
  throw new FencedKvError(
    'INVALID_ARGUMENT',
    `${JSON.stringify(url)} is not an http URL such as http://127.0.0.1:7400`,
  );
}
