/**
 * The engine that a store has on a primary, for one epoch: what it commits is durable at every in-sync replica. It promises what
 * {@link Engine} does, except that a read shows what was committed when it began only after {@link ReplicatedEngine.confirm}: another
 * replica may have become primary since. Commits that arrive while an entry is under way become the next one.
 */

import type { CommitFigures, Engine, Reader, Transaction } from '../../engines/engine.ts';
import { EngineError } from '../../engines/engine-error.ts';
import { GroupCommit, type Get, type Write } from '../../engines/group-commit.ts';

/** An entry takes no more commits beyond that: it goes to every replica in one frame. */
const MAX_ENTRY_BYTES = 1024 * 1024;

/** What a primary does for its engine. */
interface ReplicatedEngineDeps {
  /** Everything that is committed, whether the disk has it in its place or not. */
  read<T>(body: (reader: Reader) => T): T;
  readonly get: Get;
  /** Resolves when the entry is committed. Rejects with EngineError where it is not, or may not be. */
  propose(writes: readonly Write[]): Promise<void>;
  /** Resolves when nobody had become primary in a higher epoch before the call. Rejects with EngineError. */
  confirm(): Promise<void>;
}

export class ReplicatedEngine implements Engine {
  readonly #deps: ReplicatedEngineDeps;
  readonly #commits: GroupCommit;

  constructor(deps: ReplicatedEngineDeps) {
    this.#deps = deps;
    this.#commits = new GroupCommit(
      {
        get: deps.get,
        // An answer that changes nothing tells of a state, too: it is given when that is committed, and is the newest.
        persist: async (writes) => await (writes.length === 0 ? deps.confirm() : deps.propose(writes)),
        onFailure() {},
      },
      { maxGroupBytes: MAX_ENTRY_BYTES },
    );
  }

  /** A group is an entry. */
  get figures(): CommitFigures {
    return this.#commits.figures;
  }

  read<T>(body: (reader: Reader) => T): T {
    this.#commits.assertUsable();
    return this.#deps.read(body);
  }

  /** What is read after it, sees every write that was acknowledged, or shown to a reader, before the call. Rejects with EngineError. */
  async confirm(): Promise<void> {
    this.#commits.assertUsable();
    await this.#deps.confirm();
    this.#commits.assertUsable();
  }

  commit<T>(body: (transaction: Transaction) => T): Promise<T> {
    return this.#commits.commit(body);
  }

  /** The epoch has ended; the disk stays open, and is the replica's. */
  end(error: EngineError): void {
    this.#commits.end(error);
  }

  async close(): Promise<void> {
    await this.#commits.close();
    this.end(new EngineError('CLOSED', 'the store is closed'));
  }
}
