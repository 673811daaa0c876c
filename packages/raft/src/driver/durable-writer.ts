/**
 * Group commit without a timer: one write is under way, and everything that arrives meanwhile is the next one. The first error is
 * final: nothing is known of what the disk holds after it.
 */

import {
  minIndex,
  type Effect,
  type Entry,
  type HardState,
  type LogIndex,
  type LogPosition,
  type WriteSeq,
} from '../core/index.ts';
import type { LogStore, WriteBatch } from '../log-store/contract/log-store.ts';

type Persist = Extract<Effect, { type: 'persist' }>;

interface Gathered {
  seq: WriteSeq;
  hardState: HardState | undefined;
  snapshot: LogPosition | undefined;
  truncateFrom: LogIndex | undefined;
  entries: Entry[];
}

export class DurableWriter {
  readonly #store: LogStore;
  readonly #onPersisted: (seq: WriteSeq) => void;
  readonly #onError: (error: unknown) => void;
  readonly #onWorked: (() => void) | undefined;
  #next: Gathered | undefined;
  #writing: Promise<void> | undefined;
  #failed = false;
  #writes = 0;

  /** `onWorked`: the disk has done something that a write under way may have to wait for. */
  constructor(
    store: LogStore,
    onPersisted: (seq: WriteSeq) => void,
    onError: (error: unknown) => void,
    onWorked?: () => void,
  ) {
    this.#store = store;
    this.#onPersisted = onPersisted;
    this.#onError = onError;
    this.#onWorked = onWorked;
  }

  /** Writes that are durable. */
  get writes(): number {
    return this.#writes;
  }

  persist(effect: Persist): void {
    if (this.#next === undefined) this.#next = { ...effect, entries: [...effect.entries] };
    else merge(this.#next, effect);
  }

  /** Begins to write what has gathered, unless a write is under way. */
  begin(): void {
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
    const { seq } = gathered;
    this.#writing = this.#store.write(batchOf(gathered), this.#onWorked).then(
      () => {
        this.#writing = undefined;
        this.#writes += 1;
        if (!this.#failed) this.#write();
        this.#onPersisted(seq);
      },
      (error: unknown) => {
        this.#failed = true;
        this.#onError(error);
      },
    );
  }
}

/** Nearly always of entries alone. */
function batchOf({ hardState, snapshot, truncateFrom, entries }: Gathered): WriteBatch {
  if (hardState === undefined && snapshot === undefined && truncateFrom === undefined) return { entries };
  return {
    ...(hardState === undefined ? {} : { hardState }),
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(truncateFrom === undefined ? {} : { truncateFrom }),
    entries,
  };
}

/** Both in order as one: what the second removes of the first is never written. */
function merge(gathered: Gathered, { seq, hardState, snapshot, truncateFrom, entries }: Persist): void {
  gathered.seq = seq;
  gathered.hardState = hardState ?? gathered.hardState;
  if (snapshot !== undefined) {
    gathered.snapshot = snapshot;
    gathered.truncateFrom = undefined;
    gathered.entries = [];
  }
  if (truncateFrom !== undefined) {
    while ((gathered.entries.at(-1)?.index ?? 0) >= truncateFrom) gathered.entries.pop();
    // What is left of the gathered entries lies before the cut, so the disk has nothing that the cut would remove.
    if (gathered.entries.length === 0 && gathered.snapshot === undefined)
      gathered.truncateFrom = minIndex(gathered.truncateFrom ?? truncateFrom, truncateFrom);
  }
  // One by one: a spread would put a large batch on the stack.
  for (const entry of entries) gathered.entries.push(entry);
}
