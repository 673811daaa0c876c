/** The disk of a replica: a log and buckets, of which the last writes may be lost. */

import { EMPTY_REPLICA, NOTHING_FORGOTTEN } from '../../../../src/replication/core/index.ts';
import type { DurableReplica, Effect, Entry } from '../../../../src/replication/core/index.ts';
import { addPart, applyTo, type Buckets } from './buckets.ts';

type Persist = Extract<Effect, { type: 'persist' }>;
type Apply = { readonly type: 'apply'; readonly upTo: number; readonly entries: readonly Entry[] };
type Write = Persist | Apply;

export class ReplicaDisk {
  readonly #keepsBuckets: boolean;
  #durable: DurableReplica = EMPTY_REPLICA;
  /** Durable, and what a copy is read from. */
  readonly #buckets = new Map<string, string>();
  /** What reads are answered from: with everything that is under way. */
  readonly #view = new Map<string, string>();
  #viewApplied = 0;
  /** Not durable, in their order. */
  #writes: Write[] = [];

  constructor({ keepsBuckets }: { readonly keepsBuckets: boolean }) {
    this.#keepsBuckets = keepsBuckets;
  }

  get buckets(): Buckets {
    return this.#buckets;
  }

  get view(): Buckets {
    return this.#view;
  }

  get underWay(): number {
    return this.#writes.length;
  }

  start(): DurableReplica {
    this.#view.clear();
    for (const [key, value] of this.#buckets) this.#view.set(key, value);
    this.#viewApplied = this.#durable.applied;
    return this.#durable;
  }

  write(persist: Persist): void {
    this.#writes.push(persist);
    this.#copyTo(this.#view, persist);
    const { copy } = persist;
    if (copy?.step === 'drop') this.#viewApplied = 0;
    if (copy?.step === 'end') this.#viewApplied = copy.base.index;
  }

  /** `log`: with the entries that are to be applied. */
  apply(upTo: number, log: readonly Entry[]): void {
    const entries = log.filter(({ index }) => index > this.#viewApplied && index <= upTo);
    if (entries.length !== upTo - this.#viewApplied) throw new Error(`entries up to ${upTo} are not in the log`);
    this.#writes.push({ type: 'apply', upTo, entries });
    for (const entry of entries) applyTo(this.#view, entry);
    this.#viewApplied = upTo;
  }

  /** The first write is durable. */
  sync(): Write | undefined {
    const write = this.#writes.shift();
    if (write !== undefined) this.#make(write);
    return write;
  }

  crash(kept: number): void {
    for (const write of this.#writes.slice(0, kept)) this.#make(write);
    this.#writes = [];
  }

  #make(write: Write): void {
    if (write.type === 'apply') {
      for (const entry of write.entries) applyTo(this.#buckets, entry);
      this.#durable = { ...this.#durable, applied: write.upTo };
      return;
    }
    this.#copyTo(this.#buckets, write);
    this.#durable = after(this.#durable, write);
  }

  #copyTo(buckets: Map<string, string>, { copy }: Persist): void {
    if (copy === undefined) return;
    if (copy.step !== 'drop') addPart(buckets, copy.part);
    else if (!this.#keepsBuckets) buckets.clear();
  }
}

function after(durable: DurableReplica, { installed, truncateFrom, entries, base, copy }: Persist): DurableReplica {
  let next = durable;
  if (installed !== undefined) next = { ...next, installed };
  if (copy !== undefined) {
    const cursor = copy.step === 'drop' ? copy.cursor : copy.step === 'part' ? copy.part.to : undefined;
    const { epoch, copy: number } = copy.step === 'drop' ? copy : next.copy;
    const start = copy.step === 'end' ? copy.base : NOTHING_FORGOTTEN;
    next = { ...next, base: start, applied: start.index, entries: [], copy: { epoch, copy: number, cursor } };
  }
  if (base !== undefined) {
    next = { ...next, base, entries: next.entries.filter(({ index }) => index > base.index) };
  }
  if (truncateFrom !== undefined) next = { ...next, entries: next.entries.filter(({ index }) => index < truncateFrom) };
  return { ...next, entries: [...next.entries, ...entries] };
}
