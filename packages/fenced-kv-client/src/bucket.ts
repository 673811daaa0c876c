/**
 * A bucket as a client sees it, with or without a token. With one, every call asks first whether the lock is still held,
 * then carries the token, so that the store refuses what a superseded holder sends late.
 */

import { followChanges } from './changes.ts';
import type { RevisionChanges } from './changes.ts';
import type {
  BatchWrite,
  BucketInfo,
  CallOptions,
  ChangesOptions,
  CreateOptions,
  Held,
  KeyValue,
  ListOptions,
  ListPage,
  PutOptions,
  StreamedValue,
  WriteOptions,
} from './bucket-types.ts';
import { FencedKvError } from './errors.ts';
import {
  CALL_OPTIONS,
  CHANGES_OPTIONS,
  checkHeld,
  checkOptions,
  checkValue,
  checkWrites,
  CREATE_OPTIONS,
  LIST_OPTIONS,
  PUT_OPTIONS,
  WRITE_OPTIONS,
} from './options.ts';
import { parseJson, send, sendForStream } from './transport.ts';
import type { Answer, Call, TransportOptions } from './transport.ts';

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
    checkHeld(held);
    checkOptions('fencedBy', options, CALL_OPTIONS);
    const bucket = new Bucket(this.#transport, this.name, held);
    await bucket.#install(options);
    held.assertHeld?.();
    return bucket;
  }

  /** Makes the bucket with a token policy or a lock of its own, which is fixed for its life. No error where it exists so. */
  async create(options: CreateOptions = {}): Promise<void> {
    checkOptions('create', options, CREATE_OPTIONS);
    const { tokens = 'required', lock } = options;
    await this.#call('PUT', '', options, jsonBody({ tokens, lock }));
  }

  /** Undefined where the key or the bucket does not exist. */
  async get(key: string, options: CallOptions = {}): Promise<KeyValue | undefined> {
    checkOptions('get', options, CALL_OPTIONS);
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
    checkOptions('getStream', options, CALL_OPTIONS);
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
    checkOptions('put', options, PUT_OPTIONS);
    checkValue('put', value);
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
    checkOptions('delete', options, WRITE_OPTIONS);
    await this.#call('DELETE', keyPath(key), options, { headers: conditionHeaders(options.ifRevision) });
  }

  /** All writes or none. */
  async batch(writes: readonly BatchWrite[], options: CallOptions = {}): Promise<{ readonly revision: number }> {
    checkWrites(writes);
    checkOptions('batch', options, CALL_OPTIONS);
    const encoded = writes.map((write) => {
      if (write.op === 'delete' || typeof write.value === 'string') return write;
      const { value, ...rest } = write;
      return { ...rest, valueBase64: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64') };
    });
    return { revision: revisionOf(await this.#call('POST', '/batch', options, jsonBody({ writes: encoded }))) };
  }

  /** One page of keys in the order of their bytes. An absent bucket has none. */
  async list(options: ListOptions = {}): Promise<ListPage> {
    checkOptions('list', options, LIST_OPTIONS);
    const { prefix, after, limit } = options;
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
    checkOptions('info', options, CALL_OPTIONS);
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
    checkOptions('changes', options, CHANGES_OPTIONS);
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
    const held = this.#held;
    return {
      ...extra,
      method,
      path: `/v1/buckets/${encodeURIComponent(this.name)}${path}`,
      signals: [options.signal, held?.signal].filter((signal) => signal !== undefined),
      assertHeld: held === undefined ? undefined : () => held.assertHeld?.(),
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
  if (typeof key !== 'string' || key === '' || key === '.' || key === '..' || /\p{Surrogate}/u.test(key)) {
    throw new FencedKvError(
      'INVALID_ARGUMENT',
      `${typeof key === 'string' ? JSON.stringify(key) : String(key)} cannot be a key: text other than "", "." and ".." without lone surrogates`,
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
