/**
 * A stretch of a proper history of a group of replicas: primaries that follow one another, replicas that leave and come back, and clients that
 * write, read, compare and set, and delete, two at a time. It shares no code with what it tests.
 */

import type { ExpectedKey, Operation } from '../../../src/history/history.ts';
import type { Around } from '../random-world/around.ts';

type KvOperation = Extract<Operation, { readonly f: 'kv-get' | 'kv-put' | 'kv-delete' }>;

interface Stored {
  readonly value: string;
  readonly revision: number;
}

interface Open {
  readonly process: string;
  readonly call: number;
  readonly operation: KvOperation;
}

const BUCKET = 'replicated';
const KEYS = ['x', 'y'];
const REPLICAS = ['r1', 'r2', 'r3'];
const CLIENTS = ['c1', 'c2'];
const CALLS = 40;

export class RandomGroup {
  readonly #around: Around;
  readonly #stored = new Map<string, Stored>();
  #revision = 0;
  #epoch = 0;
  #primary = 'r1';
  #inSync: readonly string[] = REPLICAS;
  #version = -1;

  constructor(around: Around) {
    this.#around = around;
  }

  /** Clients write until nobody does any more. */
  use(): void {
    this.#configure();
    this.#claim();
    for (let n = 0; n < CALLS; n += 1) {
      if (this.#around.choose(5) === 0) this.#change();
      const calls = CLIENTS.map((process) => this.#begin(process, this.#any()));
      if (this.#around.choose(2) === 0) calls.reverse();
      for (const call of calls) this.#end(call);
    }
  }

  /** When the run is quiet: everybody reads all, and the replicas are looked into. */
  finish(): void {
    for (const process of CLIENTS) {
      for (const key of KEYS) this.#end(this.#begin(process, { f: 'kv-get', bucket: BUCKET, key }));
    }
    for (const replica of REPLICAS) {
      for (const [key, stored] of [...this.#stored].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
        this.#around.record(replica, { type: 'kept', bucket: BUCKET, key, ...stored });
      }
      const digest = JSON.stringify([...this.#stored]);
      this.#around.record(replica, { type: 'kept-all', keys: this.#stored.size, digest });
    }
  }

  #change(): void {
    const out = REPLICAS.find((replica) => !this.#inSync.includes(replica));
    if (this.#around.choose(2) === 0) {
      this.#claim();
    } else {
      const [left = ''] = this.#inSync.filter((replica) => replica !== this.#primary);
      this.#inSync = out === undefined ? this.#inSync.filter((replica) => replica !== left) : [...this.#inSync, out];
      this.#configure();
    }
  }

  #claim(): void {
    this.#epoch += 1 + this.#around.choose(3);
    this.#primary = this.#inSync[this.#around.choose(this.#inSync.length)] ?? 'r1';
    this.#configure();
  }

  #configure(): void {
    this.#version += 1;
    const index = this.#around.nextIndex();
    const which = { group: 'g', version: this.#version, epoch: this.#epoch, primary: this.#primary };
    this.#around.record('ensemble', { type: 'configured', index, ...which, inSync: this.#inSync });
  }

  #any(): KvOperation {
    const { choose, nextCall } = this.#around;
    const key = KEYS[choose(KEYS.length)] ?? 'x';
    const present = this.#stored.get(key);
    const expected: ExpectedKey = { value: present?.value ?? null, revision: present?.revision ?? null };
    const condition = choose(2) === 0 ? {} : { expected };
    switch (choose(4)) {
      case 0:
        return { f: 'kv-delete', bucket: BUCKET, key, ...condition };
      case 1:
      case 2:
        return { f: 'kv-put', bucket: BUCKET, key, value: `v${nextCall()}`, ...condition };
      default:
        return { f: 'kv-get', bucket: BUCKET, key };
    }
  }

  #begin(process: string, operation: KvOperation): Open {
    const call = this.#around.nextCall();
    this.#around.record(process, { type: 'invoke', call, ...operation });
    return { process, call, operation };
  }

  /** It takes effect when it ends, or nobody can tell whether it does. */
  #end({ process, call, operation }: Open): void {
    const { record, choose } = this.#around;
    const present = this.#stored.get(operation.key);
    const epoch = this.#epoch;
    if (operation.f === 'kv-get') {
      const found = { value: present?.value ?? null, revision: present?.revision ?? null };
      record(process, { type: 'ok', call, ...operation, ...found, epoch });
      return;
    }
    const { expected } = operation;
    if (expected !== undefined && expected.revision !== (present?.revision ?? null)) {
      record(process, { type: 'fail', call, ...operation, code: 'PRECONDITION_FAILED' });
      return;
    }
    const fate = choose(8);
    if (fate > 0) this.#apply(operation);
    if (fate < 2) record(process, { type: 'info', call, ...operation, code: 'TIMEOUT' });
    else if (operation.f === 'kv-delete') record(process, { type: 'ok', call, ...operation, epoch });
    else record(process, { type: 'ok', call, ...operation, revision: this.#revision, epoch });
  }

  #apply(operation: Exclude<KvOperation, { readonly f: 'kv-get' }>): void {
    this.#revision += 1;
    if (operation.f === 'kv-delete') this.#stored.delete(operation.key);
    else this.#stored.set(operation.key, { value: operation.value, revision: this.#revision });
  }
}
