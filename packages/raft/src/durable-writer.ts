/**
 * Group commit without a timer: one write is under way, and everything that arrives meanwhile is the next one. The first error is
 * final: nothing is known of what the disk holds after it.
 */

import type { Effect, HardState, LogIndex, WriteSeq, Entry } from './core/index.ts';
import type { LogStore, WriteBatch } from './log-store/log-store.ts';

type Persist = Extract<Effect, { type: 'persist' }>;

interface Gathered {
  seq: WriteSeq;
  hardState: HardState | undefined;
  truncateFrom: LogIndex | undefined;
  entries: readonly Entry[];
}

export class DurableWriter {
  readonly #store: LogStore;
  readonly #onPersisted: (seq: WriteSeq) => void;
  readonly #onError: (error: unknown) => void;
  #next: Gathered | undefined;
  #writing: Promise<void> | undefined;
  #failed = false;

  constructor(store: LogStore, onPersisted: (seq: WriteSeq) => void, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onPersisted = onPersisted;
    this.#onError = onError;
  }

  persist(effect: Persist): void {
    this.#next = this.#next === undefined ? effect : merge(this.#next, effect);
    if (this.#writing === undefined && !this.#failed) this.#write();
  }

  /** Resolves when nothing is under way any more; what was gathered and not yet begun is dropped. */
  async stop(): Promise<void> {
    this.#failed = true;
    await this.#writing;
  }

  #write(): void {
    const gathered = this.#next;
    if (gathered === undefined) return;
    this.#next = undefined;
    const { seq, hardState, truncateFrom, entries } = gathered;
    const batch: WriteBatch = {
      ...(hardState === undefined ? {} : { hardState }),
      ...(truncateFrom === undefined ? {} : { truncateFrom }),
      entries,
    };
    this.#writing = this.#store.write(batch).then(
      () => {
        this.#writing = undefined;
        if (!this.#failed) this.#write();
        this.#onPersisted(seq);
      },
      (error: unknown) => {
        this.#writing = undefined;
        this.#failed = true;
        this.#onError(error);
      },
    );
  }
}

/** Both in order as one: what the second removes of the first is never written. */
function merge(first: Gathered, second: Persist): Gathered {
  const cut = second.truncateFrom;
  const kept = cut === undefined ? first.entries : first.entries.filter((entry) => entry.index < cut);
  const cutsBelow = cut !== undefined && kept.length === 0;
  return {
    seq: second.seq,
    hardState: second.hardState ?? first.hardState,
    truncateFrom: cutsBelow ? lower(first.truncateFrom, cut) : first.truncateFrom,
    entries: kept.length === 0 ? second.entries : [...kept, ...second.entries],
  };
}

function lower(a: LogIndex | undefined, b: LogIndex): LogIndex {
  return a !== undefined && a < b ? a : b;
}
