/**
 * The replicas as a client of a simulated world reaches them. As the SDK's client it goes where a replica sends it, and asks again where
 * certainly nothing has changed.
 */

import type { Runtime } from '@holdfast/runtime';
import type { Group, GroupBucket } from '../../../workloads/replicas/group.ts';
import { StoreRefusal, UnansweredError } from '../../../workloads/store.ts';
import { Caller } from '../rpc.ts';
import type { AskedReplica, ReplicaAnswer, ReplicaCall } from './replica-calls.ts';
import { REPLICA_CLIENT_PORT } from './replica-host.ts';

/** All tries of a call together. */
const CALL_TIMEOUT_MS = 4_000;
const PAUSE_MS = 50;

type Done = Extract<ReplicaAnswer, { readonly ok: true }>;
type Refused = Extract<ReplicaAnswer, { readonly ok: false }>;

export class GroupClient implements Group {
  readonly #runtime: Runtime;
  readonly #hosts: readonly string[];
  readonly #callers: ReadonlyMap<string, Caller>;
  #at: string;
  #epoch = 0;

  /** `hosts`: at least one. */
  constructor(runtime: Runtime, hosts: readonly string[]) {
    this.#runtime = runtime;
    this.#hosts = hosts;
    this.#callers = new Map(hosts.map((host) => [host, new Caller(runtime, `${host}:${REPLICA_CLIENT_PORT}`)]));
    this.#at = hosts[0] ?? '';
  }

  async create(bucket: string): Promise<void> {
    await this.#call({ op: 'create', bucket });
  }

  bucket(name: string): GroupBucket {
    return this.#through(name, undefined);
  }

  async fence(name: string, token: number): Promise<{ readonly bucket: GroupBucket; readonly epoch: number }> {
    const { epoch } = await this.#call({ op: 'fence', bucket: name, token });
    return { bucket: this.#through(name, token), epoch };
  }

  close(): void {
    // Its connections end with its host.
  }

  #through(bucket: string, token: number | undefined): GroupBucket {
    return {
      get: async (key) => {
        const { value = null, revision = null, epoch } = await this.#call({ op: 'get', bucket, key, token });
        return { value, revision, epoch };
      },
      put: async (key, value, revision) => {
        const done = await this.#call({ op: 'write', bucket, key, value, token, revision });
        return { revision: done.revision ?? 0, epoch: done.epoch };
      },
      delete: async (key, revision) => {
        const { epoch } = await this.#call({ op: 'write', bucket, key, value: null, token, revision });
        return { epoch };
      },
    };
  }

  async #call(call: ReplicaCall): Promise<Done> {
    const { clock } = this.#runtime;
    const endMs = clock.monotonicMs() + CALL_TIMEOUT_MS;
    for (;;) {
      const tried = this.#at;
      try {
        const answer = await this.#ask(tried, call);
        if (answer.ok) {
          this.#epoch = Math.max(this.#epoch, answer.epoch);
          return answer;
        }
        if (answer.code !== 'NOT_PRIMARY' || answer.indeterminate) throw new StoreRefusal(answer);
        this.#moveOn(tried, answer);
        if (clock.monotonicMs() >= endMs) throw new StoreRefusal(answer);
      } catch (error) {
        if (error instanceof StoreRefusal) {
          if (error.indeterminate) this.#moveOn(tried);
          throw error;
        }
        this.#moveOn(tried);
        const lost = error instanceof UnansweredError && call.op !== 'get';
        if (lost || clock.monotonicMs() >= endMs) throw error;
      }
      await new Promise<void>((resolve) => void clock.setTimer(PAUSE_MS, resolve));
    }
  }

  async #ask(host: string, call: ReplicaCall): Promise<ReplicaAnswer> {
    const caller = this.#callers.get(host);
    if (caller === undefined) throw new TypeError(`there is no replica ${host}`);
    return (await caller.call({ known: this.#epoch, call } satisfies AskedReplica)) as ReplicaAnswer;
  }

  #moveOn(tried: string, answer?: Refused): void {
    // Another call has found a better one meanwhile.
    if (tried !== this.#at) return;
    const { primary, epoch = 0 } = answer ?? {};
    if (primary === tried) return;
    if (typeof primary === 'string' && epoch >= this.#epoch) this.#at = primary;
    else this.#at = this.#hosts[(this.#hosts.indexOf(tried) + 1) % this.#hosts.length] ?? tried;
  }
}
