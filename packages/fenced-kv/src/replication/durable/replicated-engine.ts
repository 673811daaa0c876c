/**
 * The engine that a store has on a primary, for one epoch: what it commits is durable at every in-sync replica. It promises what
 * {@link Engine} does, except that a read shows what was committed when it began only after {@link ReplicatedEngine.confirm}: another
 * replica may have become primary since.
 */

import type { CommitFigures, Engine, Reader, Transaction } from '../../engines/engine.ts';
import { EngineError } from '../../engines/engine-error.ts';
import { mapKey, type Write } from '../../engines/group-commit.ts';
import { MAX_WAITING_COMMITS } from '../../limits.ts';
import { Overlay } from './overlay.ts';

/** What a primary does for its engine. */
interface ReplicatedEngineDeps {
  /** Everything that is committed, whether the disk has it in its place or not. */
  read<T>(body: (reader: Reader) => T): T;
  /** `index`: where the entry lies in the log. `committed` rejects with EngineError where it is not, or may not be. */
  propose(writes: readonly Write[]): { readonly index: number; readonly committed: Promise<void> };
  /** Resolves when nobody had become primary in a higher epoch before the call. Rejects with EngineError. */
  confirm(): Promise<void>;
}

export class ReplicatedEngine implements Engine {
  readonly #deps: ReplicatedEngineDeps;
  /** What was proposed, and is not committed yet: the next commit is judged on top of it. */
  readonly #proposed = new Overlay();
  #outstanding = 0;
  #commits = 0;
  #groups = 0;
  /** Resolves or rejects with the last proposal. */
  #last: Promise<void> = Promise.resolve();
  #ended: EngineError | undefined;

  constructor(deps: ReplicatedEngineDeps) {
    this.#deps = deps;
  }

  /** A group is a proposal. */
  get figures(): CommitFigures {
    return { commits: this.#commits, groups: this.#groups, waiting: this.#outstanding };
  }

  read<T>(body: (reader: Reader) => T): T {
    this.#assertUsable();
    return this.#deps.read(body);
  }

  /** What is read after it, sees every write that was acknowledged, or shown to a reader, before the call. Rejects with EngineError. */
  async confirm(): Promise<void> {
    this.#assertUsable();
    await this.#deps.confirm();
    this.#assertUsable();
  }

  async commit<T>(body: (transaction: Transaction) => T): Promise<T> {
    this.#assertUsable();
    if (this.#outstanding >= MAX_WAITING_COMMITS) {
      throw new EngineError(
        'OVERLOADED',
        `${MAX_WAITING_COMMITS} writes are waiting for the replicas; try again later`,
      );
    }
    const staged = new Map<string, Write>();
    let result: T;
    try {
      result = this.#deps.read((reader) => body(this.#transaction(reader, staged)));
    } catch (error) {
      await this.#settled();
      this.#commits += 1;
      throw error;
    }
    if (staged.size === 0) await this.#settled();
    else await this.#propose([...staged.values()]);
    this.#commits += 1;
    return result;
  }

  /** The epoch has ended; the disk stays open, and is the replica's. */
  end(error: EngineError): void {
    this.#ended ??= error;
  }

  async close(): Promise<void> {
    this.end(new EngineError('CLOSED', 'the store is closed'));
    await this.#last.catch(() => {});
  }

  #transaction(reader: Reader, staged: Map<string, Write>): Transaction {
    const stage = (key: Uint8Array, value: Uint8Array | undefined): void => {
      staged.set(mapKey(key), { key, value });
    };
    return {
      get: (key) => {
        const write = staged.get(mapKey(key));
        return write === undefined ? this.#proposed.get(key, (each) => reader.get(each)) : write.value;
      },
      put: stage,
      delete: (key) => stage(key, undefined),
    };
  }

  async #propose(writes: readonly Write[]): Promise<void> {
    const { index, committed } = this.#deps.propose(writes);
    this.#proposed.add(index, writes);
    this.#outstanding += 1;
    this.#last = committed;
    try {
      await committed;
      this.#groups += 1;
      this.#proposed.drop(index);
    } finally {
      this.#outstanding -= 1;
    }
  }

  /** An answer that changes nothing tells of a state, too: it is given when that is committed, and is the newest. */
  async #settled(): Promise<void> {
    const last = this.#last;
    await this.#deps.confirm();
    await last;
  }

  #assertUsable(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }
}
