/**
 * Natural group commit: one durable write is under way at a time, and everything that arrives meanwhile is the next one.
 * Bodies run one after another, in the order of their calls; each sees what those before it wrote. It leaves how a group
 * becomes durable to its `persist`.
 */

import type { CommitFigures, Transaction } from './engine.ts';
import { describeError, EngineError } from './engine-error.ts';
import { MAX_GROUP_COMMITS, MAX_WAITING_COMMITS } from '../limits.ts';

export interface Write {
  readonly key: Uint8Array;
  /** Undefined: the key is deleted. */
  readonly value: Uint8Array | undefined;
}

export type Get = (key: Uint8Array) => Uint8Array | undefined;

/** Calls `stage` exactly once, with a view of the latest state, and makes the writes that it returns durable, all or none. */
export type Persist = (stage: (get: Get) => readonly Write[]) => Promise<void>;

interface Job {
  /** Adds its writes to `staged`, all or none. */
  run(staged: Map<string, Write>, get: Get): void;
  complete(): void;
  fail(error: EngineError): void;
}

export class GroupCommit {
  readonly #persist: Persist;
  readonly #onFailure: (error: EngineError) => void;
  #waiting: Job[] = [];
  #draining: Promise<void> | undefined;
  #failure: EngineError | undefined;
  #closed = false;
  #commits = 0;
  #groups = 0;

  constructor(persist: Persist, onFailure: (error: EngineError) => void) {
    this.#persist = persist;
    this.#onFailure = onFailure;
  }

  get figures(): CommitFigures {
    return { commits: this.#commits, groups: this.#groups, waiting: this.#waiting.length };
  }

  /** Throws unless the engine is in use. */
  assertUsable(): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#closed) throw new EngineError('CLOSED', 'the store is closed');
  }

  async commit<T>(body: (transaction: Transaction) => T): Promise<T> {
    this.assertUsable();
    if (this.#waiting.length >= MAX_WAITING_COMMITS) {
      throw new EngineError('OVERLOADED', `${MAX_WAITING_COMMITS} writes are waiting for the disk; try again later`);
    }
    return await new Promise<T>((resolve, reject) => {
      this.#waiting.push(newJob(body, resolve, reject));
      this.#draining ??= this.#drain();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#draining;
  }

  async #drain(): Promise<void> {
    await Promise.resolve(); // whatever the present turn still asks for joins the first group
    while (this.#waiting.length > 0) {
      const group: Job[] = [];
      try {
        await this.#persist((get) => {
          group.push(...this.#waiting.splice(0, MAX_GROUP_COMMITS));
          return stageGroup(group, get);
        });
      } catch (error) {
        this.#fail(error, group);
        break;
      }
      this.#groups += 1;
      this.#commits += group.length;
      for (const job of group) job.complete();
    }
    this.#draining = undefined;
  }

  #fail(cause: unknown, group: readonly Job[]): void {
    const failure =
      cause instanceof EngineError
        ? cause
        : new EngineError('DISK_ERROR', `a write could not be made durable: ${describeError(cause)}`, {
            cause,
            indeterminate: true,
          });
    // Later callers' writes never reached the disk.
    this.#failure = new EngineError(failure.code, `the store stopped after an error: ${failure.message}`, {
      cause: failure,
    });
    for (const job of group) job.fail(failure);
    for (const job of this.#waiting.splice(0)) job.fail(this.#failure);
    this.#onFailure(failure);
  }
}

function stageGroup(group: readonly Job[], get: Get): Write[] {
  const staged = new Map<string, Write>();
  const latest: Get = (key) => {
    const write = staged.get(mapKey(key));
    return write === undefined ? get(key) : write.value;
  };
  for (const job of group) job.run(staged, latest);
  return [...staged.values()];
}

function newJob<T>(
  body: (transaction: Transaction) => T,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): Job {
  let complete = (): void => reject(new EngineError('CLOSED', 'the write was never run'));
  return {
    run(staged, get) {
      const own = new Map<string, Write>();
      const stage = (key: Uint8Array, value: Uint8Array | undefined): void => {
        own.set(mapKey(key), { key, value });
      };
      try {
        const result = body({
          get(key) {
            const write = own.get(mapKey(key));
            return write === undefined ? get(key) : write.value;
          },
          put: stage,
          delete: (key) => stage(key, undefined),
        });
        for (const [key, write] of own) staged.set(key, write);
        complete = () => resolve(result);
      } catch (error) {
        complete = () => reject(error);
      }
    },
    complete: () => complete(),
    fail: reject,
  };
}

/** One character a byte: equal for equal bytes, and ordered as the bytes are. */
export function mapKey(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}
