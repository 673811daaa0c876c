/**
 * A bucket as a client sees it, with or without a token. With one, every call asks first whether the lock is still held,
 * then carries the token, so that the store refuses what a superseded holder sends late.
 */

import { followChanges } from './changes.ts';
import type { RevisionChanges } from './changes.ts';
import { FencedKvError } from './errors.ts';
import { parseJson, send, sendForStream } from './transport.ts';
import type { Answer, Call, TransportOptions } from './transport.ts';

/** What a bucket needs of a held lock; the lock client's handles are such. */
export interface Held {
  readonly token: number;
  /**
   * The lowest token under which the lock is held, for one that several hold, from 0 to `token`. Asked for with each call, since it
   * rises. @default the token
   */
  readonly floor?: number | undefined;
  /** Aborts when the lock is lost; calls under way end with it. */
  readonly signal?: AbortSignal;
  /** Throws when the lock may be lost. */
  assertHeld?(): void;
}

export interface CallOptions {
  /** Ends the wait for an answer; a write that was sent may still happen (the error's `indeterminate`). */
  readonly signal?: AbortSignal;
}

export interface CreateOptions extends CallOptions {
  /** `optional`: writes without a token are taken, too, and are not fenced. @default 'required' */
  readonly tokens?: 'required' | 'optional';
  /**
   * The lock whose tokens the bucket takes. A higher one than it knows is confirmed at the ensemble that `fenced-kvd --ensemble` names: the
   * call fails with {@link TokenNotGrantedError}, or ENSEMBLE_UNREACHABLE (`retryable`). @default none: any token is believed
   */
  readonly lock?: string;
}

export interface WriteOptions extends CallOptions {
  /** The revision that the key must have, or null where it must be absent; else {@link PreconditionFailedError}. */
  readonly ifRevision?: number | null;
}

export interface PutOptions extends WriteOptions {
  /**
   * After so many milliseconds the key is absent to everybody, until it is written again: 1 to ten years. It counts by the store's clock, a
   * jump of which changes nothing while the store runs. @default for ever
   */
  readonly ttlMs?: number;
}

export type BatchWrite =
  | {
      readonly op: 'put';
      readonly key: string;
      readonly value: Uint8Array | string;
      readonly ifRevision?: number | null;
      readonly ttlMs?: number;
    }
  | { readonly op: 'delete'; readonly key: string; readonly ifRevision?: number | null };

export interface KeyValue {
  readonly value: Uint8Array;
  readonly revision: number;
  /** Its time to live, as much as is left; absent: for ever. */
  readonly expiresInMs?: number;
}

/** A value that is read as it comes. */
export interface StreamedValue {
  readonly revision: number;
  readonly bytes: number;
  /** Read to its end, or cancelled: until then the store keeps the value, and cuts off who takes nothing for 30 seconds. */
  readonly body: ReadableStream<Uint8Array>;
}

export interface ChangesOptions extends CallOptions {
  /** The revision behind which to begin. @default the present one: what is to come */
  readonly from?: number | undefined;
}

export interface ListOptions extends CallOptions {
  readonly prefix?: string;
  readonly after?: string;
  /** Keys of one page, up to 1,000. @default 100 */
  readonly limit?: number;
}

export interface ListedKey {
  readonly key: string;
  readonly revision: number;
  readonly bytes: number;
  /** Its time to live, as much as is left; absent: for ever. */
  readonly expiresInMs?: number;
}

export interface ListPage {
  /** Fewer than were asked for where some have expired, perhaps none. */
  readonly keys: readonly ListedKey[];
  /** What to pass as `after` for the next page; null at the end. */
  readonly next: string | null;
}

export interface BucketInfo {
  readonly bucket: string;
  readonly tokens: 'required' | 'optional';
  /** The lock whose tokens it takes; null: whatever it is told. */
  readonly lock: string | null;
  /** The highest floor, which is the highest token where locks are held alone; 0 while none was installed. */
  readonly highest: number;
  readonly revision: number;
  readonly keys: number;
  readonly bytes: number;
}

/** A bucket whose calls carry the token of `held`, or none. */
export class Bucket {
  readonly name: string;
  readonly #transport: TransportOptions;
  readonly #held: Held | undefined;
  /** The highest floor that the store has installed for this holder. */
  #installed = -1;

  /** @internal Use {@link FencedKv.bucket}. */
  constructor(transport: TransportOptions, name: string, held?: Held) {
    this.#transport = transport;
    this.name = name;
    this.#held = held;
  }

  /**
   * Installs the token of `held` and returns the bucket whose calls carry it: from then on no older holder can change what is
   * read through it. Rejects with {@link StaleTokenError} where a newer holder has been here.
   */
  async fencedBy(held: Held, options: CallOptions = {}): Promise<Bucket> {
    const bucket = new Bucket(this.#transport, this.name, held);
    await bucket.#install(options);
    held.assertHeld?.();
    return bucket;
  }

  /** Makes the bucket with a token policy or a lock of its own, which is fixed for its life. No error where it exists so. */
  async create({ tokens = 'required', lock, ...options }: CreateOptions = {}): Promise<void> {
    await this.#call('PUT', '', options, jsonBody({ tokens, lock }));
  }

  /** Undefined where the key or the bucket does not exist. */
  async get(key: string, options: CallOptions = {}): Promise<KeyValue | undefined> {
    try {
      const answer = await this.#call('GET', keyPath(key), options);
      const expires = answer.headers.get('expires-in-ms');
      const expiresInMs = expires === null ? {} : { expiresInMs: Number(expires) };
      return { value: answer.body, revision: revisionOf(answer), ...expiresInMs };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * A value of up to 16 MiB piece by piece: no more of it is in memory than is being read. Undefined where the key or the bucket does not
   * exist. A connection that breaks fails the stream with CONNECTION.
   *
   * @example
   * const found = await accounts.getStream('export.csv');
   * if (found !== undefined) await pipeline(found.body, createWriteStream('export.csv'));
   */
  async getStream(key: string, options: CallOptions = {}): Promise<StreamedValue | undefined> {
    try {
      if (this.#mustInstall('GET')) await this.#install(options);
      const call = this.#request('GET', keyPath(key), options, {});
      const { headers, body } = await sendForStream(this.#transport, call);
      return { revision: revisionOf({ headers }), bytes: Number(headers.get('content-length')), body };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * Writes a value of up to 16 MiB. Text is written as UTF-8, a stream as it comes: it is the value only when all of it has arrived. A
   * stream that fails changes nothing.
   */
  async put(
    key: string,
    value: Uint8Array | string | ReadableStream<Uint8Array>,
    options: PutOptions = {},
  ): Promise<{ readonly revision: number }> {
    const { ttlMs } = options;
    const path = ttlMs === undefined ? keyPath(key) : `${keyPath(key)}?ttlMs=${ttlMs}`;
    const answer = await this.#call('PUT', path, options, {
      headers: { 'content-type': 'application/octet-stream', ...conditionHeaders(options.ifRevision) },
      body: bodyOf(value),
    });
    return { revision: revisionOf(answer) };
  }

  /** No error where the key does not exist. */
  async delete(key: string, options: WriteOptions = {}): Promise<void> {
    await this.#call('DELETE', keyPath(key), options, { headers: conditionHeaders(options.ifRevision) });
  }

  /** All writes or none. */
  async batch(writes: readonly BatchWrite[], options: CallOptions = {}): Promise<{ readonly revision: number }> {
    const encoded = writes.map((write) => {
      if (write.op === 'delete' || typeof write.value === 'string') return write;
      const { value, ...rest } = write;
      return { ...rest, valueBase64: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
    });
    return { revision: revisionOf(await this.#call('POST', '/batch', options, jsonBody({ writes: encoded }))) };
  }

  /** One page of keys in the order of their bytes. An absent bucket has none. */
  async list({ prefix, after, limit, ...options }: ListOptions = {}): Promise<ListPage> {
    const query = new URLSearchParams();
    if (prefix !== undefined) query.set('prefix', prefix);
    if (after !== undefined) query.set('after', after);
    if (limit !== undefined) query.set('limit', String(limit));
    try {
      const page = parseJson(await this.#call('GET', `/keys?${query.toString()}`, options));
      return { keys: page['keys'] as ListPage['keys'], next: page['next'] as string | null };
    } catch (error) {
      if (isNotFound(error)) return { keys: [], next: null };
      throw error;
    }
  }

  /** Undefined where the bucket does not exist. */
  async info(options: CallOptions = {}): Promise<BucketInfo | undefined> {
    try {
      return parseJson(await this.#call('GET', '', options)) as unknown as BucketInfo;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * The bucket's changes as they come, one item for each revision, in order. A connection that breaks is made again, and goes on where it
   * ended. Leaving the loop ends it. Rejects with {@link ChangesMissedError} where the store does not remember what came after `from`, or what
   * came while no connection was there; with ABORTED when the signal, or that of the lock, aborts; and with whatever the first connection
   * fails with.
   *
   * @param options `from`: the revision behind which to begin; of who has read the bucket, the one that `info` said before. @default its present one
   *
   * @example
   * const from = (await bucket.info())?.revision;
   * const { keys } = await bucket.list(); // what is there now, or what the changes tell
   * for await (const { changes } of bucket.changes({ from })) for (const { type, key } of changes) refresh(type, key);
   */
  changes(options: ChangesOptions = {}): AsyncGenerator<RevisionChanges, void, undefined> {
    const { from, signal } = options;
    return followChanges(from, {
      signal,
      open: async (after, connection) => {
        const path = after === undefined ? '/changes' : `/changes?from=${after}`;
        const limits = signal === undefined ? {} : { signal };
        if (this.#mustInstall('GET')) await this.#install(limits);
        const call = this.#request('GET', path, limits, {});
        return await sendForStream(this.#transport, { ...call, signals: [...call.signals, connection] });
      },
    });
  }

  async #call(
    method: Call['method'],
    path: string,
    options: CallOptions,
    extra: Pick<Call, 'headers' | 'body'> = {},
  ): Promise<Answer> {
    // What is asked for after this call comes after it: nothing is awaited that need not be.
    if (this.#mustInstall(method)) await this.#install(options);
    const call = this.#request(method, path, options, extra);
    const answer = await send(this.#transport, call);
    if (this.#held !== undefined && method !== 'GET') {
      const told = Number(call.headers?.['fencing-floor'] ?? this.#held.token);
      this.#installed = Math.max(this.#installed, told);
    }
    return answer;
  }

  /** A read does not install. Without that it would be refused, or see what a holder below the floor is about to change. */
  #mustInstall(method: Call['method']): boolean {
    return method === 'GET' && this.#held !== undefined && floorOf(this.#held) > this.#installed;
  }

  async #install(options: CallOptions): Promise<void> {
    const held = this.#held;
    if (held === undefined) return;
    held.assertHeld?.();
    const floor = floorOf(held);
    const body = { token: held.token, ...(floor === held.token ? {} : { floor }) };
    await send(this.#transport, this.#plain('POST', '/fence', options, jsonBody(body)));
    this.#installed = Math.max(this.#installed, floor);
  }

  /** A request with what is to be said of the holder, while the lock is held. */
  #request(method: Call['method'], path: string, options: CallOptions, extra: Pick<Call, 'headers' | 'body'>): Call {
    const held = this.#held;
    if (held === undefined) return this.#plain(method, path, options, extra);
    held.assertHeld?.();
    const floor = floorOf(held);
    // A floor that rises in the meantime is installed with the next call.
    const told = method === 'GET' ? Math.min(floor, this.#installed) : floor;
    const headers = { ...extra.headers, ...holderHeaders(held, told) };
    return this.#plain(method, path, options, { ...extra, headers });
  }

  #plain(method: Call['method'], path: string, options: CallOptions, extra: Pick<Call, 'headers' | 'body'>): Call {
    return {
      ...extra,
      method,
      path: `/v1/buckets/${encodeURIComponent(this.name)}${path}`,
      signals: [options.signal, this.#held?.signal].filter((signal) => signal !== undefined),
    };
  }
}

function bodyOf(
  value: Uint8Array | string | ReadableStream<Uint8Array>,
): Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  if (typeof value === 'string') return new TextEncoder().encode(value);
  return value instanceof ReadableStream ? value : new Uint8Array(value);
}

/** Never above the token: who says more would fence itself off. */
function floorOf({ token, floor }: Held): number {
  return Math.min(floor ?? token, token);
}

/** A store from before floors takes the token alone for one, which fences off the others that hold, and lets nobody else in. */
function holderHeaders({ token }: Held, floor: number): Record<string, string> {
  return { 'fencing-token': String(token), ...(floor === token ? {} : { 'fencing-floor': String(floor) }) };
}

function keyPath(key: string): string {
  if (key === '' || key === '.' || key === '..' || /\p{Surrogate}/u.test(key)) {
    throw new FencedKvError(
      'INVALID_ARGUMENT',
      `${JSON.stringify(key)} cannot be a key: text other than "", "." and ".." without lone surrogates`,
    );
  }
  return `/keys/${encodeURIComponent(key)}`;
}

function conditionHeaders(ifRevision: number | null | undefined): Record<string, string> {
  if (ifRevision === undefined) return {};
  return ifRevision === null ? { 'if-none-match': '*' } : { 'if-match': `"${ifRevision}"` };
}

function jsonBody(value: unknown): Pick<Call, 'headers' | 'body'> {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

function revisionOf(answer: Pick<Answer, 'headers'>): number {
  const match = /^"([0-9]{1,16})"$/.exec(answer.headers.get('etag') ?? '');
  if (match === null) {
    throw new FencedKvError('PROTOCOL', 'the answer has no revision in its header ETag; is a proxy removing it?', {
      indeterminate: true,
    });
  }
  return Number(match[1]);
}

function isNotFound(error: unknown): boolean {
  return error instanceof FencedKvError && (error.code === 'KEY_NOT_FOUND' || error.code === 'BUCKET_NOT_FOUND');
}
