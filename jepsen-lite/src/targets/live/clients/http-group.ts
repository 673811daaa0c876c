/**
 * The replicas of the fenced store, through the client that applications use: it follows the configuration, and makes calls again that
 * certainly changed nothing. The epoch of each answer is that of its last try.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Client } from '@holdfast/client';
import { FencedKv, FencedKvError, StaleTokenError, type Bucket } from '@holdfast/fenced-kv-client';
import type { Group, GroupBucket } from '../../../workloads/replicas/group.ts';
import { StoreRefusal } from '../../../workloads/store.ts';

/** All tries of a call together. */
const CALL_TIMEOUT_MS = 4_000;
/** What the client says only when it, the store or the harness is wrong. */
const NOBODY_EXPECTS = new Set(['PROTOCOL', 'INVALID_ARGUMENT', 'INTERNAL', 'NOT_FOUND', 'BUCKET_EXISTS']);

interface Tries {
  epoch: number | undefined;
}

export class HttpGroup implements Group {
  readonly #kv: FencedKv;
  readonly #tries = new AsyncLocalStorage<Tries>();

  /** `addresses`: host and port of each replica. */
  constructor(addresses: readonly string[], { client, group }: { readonly client: Client; readonly group: string }) {
    this.#kv = new FencedKv(
      addresses.map((address) => `http://${address}`),
      {
        timeoutMs: CALL_TIMEOUT_MS,
        follow: { nodes: client.nodes, group },
        fetch: async (input, init) => await this.#fetch(input, init),
      },
    );
  }

  async create(bucket: string): Promise<void> {
    await this.#call(async () => await this.#kv.bucket(bucket).create({ tokens: 'optional' }));
  }

  bucket(name: string): GroupBucket {
    return this.#through(this.#kv.bucket(name));
  }

  async fence(name: string, token: number): Promise<{ readonly bucket: GroupBucket; readonly epoch: number }> {
    const { answer, epoch } = await this.#call(async () => await this.#kv.bucket(name).fencedBy({ token }));
    return { bucket: this.#through(answer), epoch };
  }

  close(): void {
    this.#kv.close();
  }

  #through(bucket: Bucket): GroupBucket {
    return {
      get: async (key) => {
        const { answer, epoch } = await this.#call(async () => await bucket.get(key));
        if (answer === undefined) return { value: null, revision: null, epoch };
        return { value: new TextDecoder().decode(answer.value), revision: answer.revision, epoch };
      },
      put: async (key, value, revision) => {
        const condition = revision === undefined ? {} : { ifRevision: revision };
        const { answer, epoch } = await this.#call(async () => await bucket.put(key, value, condition));
        return { revision: answer.revision, epoch };
      },
      delete: async (key, revision) => {
        const condition = revision === undefined ? {} : { ifRevision: revision };
        const { epoch } = await this.#call(async () => await bucket.delete(key, condition));
        return { epoch };
      },
    };
  }

  async #call<T>(call: () => Promise<T>): Promise<{ readonly answer: T; readonly epoch: number }> {
    const tries: Tries = { epoch: undefined };
    let answer: T;
    try {
      answer = await this.#tries.run(tries, call);
    } catch (error) {
      throw refusalOf(error);
    }
    if (tries.epoch === undefined) throw new TypeError('a replica has answered without its epoch');
    return { answer, epoch: tries.epoch };
  }

  async #fetch(input: string, init: RequestInit): Promise<Response> {
    const response = await fetch(input, init);
    const tries = this.#tries.getStore();
    const epoch = response.headers.get('group-epoch');
    if (tries !== undefined) tries.epoch = epoch === null ? undefined : Number(epoch);
    return response;
  }
}

/** What is no such error is thrown on as it is. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof FencedKvError) || NOBODY_EXPECTS.has(error.code)) return error;
  const { code, indeterminate } = error;
  const highest = error instanceof StaleTokenError ? { highest: error.highest } : {};
  return new StoreRefusal({ ok: false, code, indeterminate, ...highest });
}
