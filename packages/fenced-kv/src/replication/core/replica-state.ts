import { invariant } from './invariant.ts';
import { ReplicaLog } from './log.ts';
import { NOTHING_FORGOTTEN } from './types.ts';
import type { CopyCursor, CopyPart, DurableReplica, DurableWrite, Effect, Entry, Epoch } from './types.ts';
import type { LogBase, Message, ReplicaId } from './types.ts';

/**
 * What a replica has in every role: the installed epoch, the log, how far it is committed, and which of its writes are durable. All
 * effects of a step are collected here, in their order.
 */
export class ReplicaState {
  readonly log: ReplicaLog;
  #installed: Epoch;
  #commit: number;
  #applied: number;
  #copy: DurableReplica['copy'];
  #seq = 0;
  #durableSeq = 0;
  #effects: Effect[] = [];

  constructor({ installed, base, applied, entries, copy }: DurableReplica) {
    this.log = new ReplicaLog(base, entries);
    const { lastIndex } = this.log;
    this.#installed = installed;
    this.#commit = applied;
    this.#applied = applied;
    this.#copy = copy;
    const lastEpoch = this.log.epochAt(lastIndex) ?? 0;
    invariant(lastEpoch <= installed, 'entries-are-of-installed-epochs', () => `${lastEpoch} > ${installed}`);
    const known = base.index <= applied && applied <= lastIndex;
    invariant(known, 'what-is-applied-is-in-the-log', () => `${applied} of ${base.index} to ${lastIndex}`);
    const whole = copy.cursor === undefined || lastIndex === 0;
    invariant(whole, 'a-copy-that-is-not-complete-has-no-log', () => `${lastIndex}`);
  }

  get installed(): Epoch {
    return this.#installed;
  }

  /** How far this replica knows the log to be committed: at least as far as it is applied. */
  get commit(): number {
    return this.#commit;
  }

  /** The buckets have everything up to here, durably. */
  get applied(): number {
    return this.#applied;
  }

  /** The number of the last copy of the installed epoch, 0 if there was none. */
  get copy(): number {
    return this.#copy.epoch === this.#installed ? this.#copy.copy : 0;
  }

  /** How far a copy has come, while it is not complete. */
  get cursor(): CopyCursor | undefined {
    return this.#copy.cursor;
  }

  /** The last write, while it is not durable: what reveals the present state waits for it. */
  get pendingSeq(): number | undefined {
    return this.#seq > this.#durableSeq ? this.#seq : undefined;
  }

  emit(effect: Effect): void {
    this.#effects.push(effect);
  }

  send(to: ReplicaId, message: Message, after: number | undefined): void {
    this.emit({ type: 'send', to, message, after });
  }

  takeEffects(): readonly Effect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /** A copy of a former epoch that is not complete is dropped: nobody will end it. Returns the number of the write. */
  install(epoch: Epoch): number {
    invariant(epoch > this.#installed, 'installed-epochs-grow', () => `${epoch} after ${this.#installed}`);
    this.#installed = epoch;
    if (this.cursor === undefined) return this.#persist({ installed: epoch });
    return this.#drop({ epoch, copy: 0, cursor: undefined }, epoch);
  }

  /** Drops the entries from `truncateFrom` on, when given, and appends these. Returns the number of the write. */
  write(truncateFrom: number | undefined, entries: readonly Entry[]): number {
    if (truncateFrom !== undefined) {
      invariant(truncateFrom > this.#commit, 'committed-entries-stay', () => `${truncateFrom} of ${this.#commit}`);
      this.log.truncateFrom(truncateFrom);
    }
    for (const entry of entries) this.log.append(entry);
    return this.#persist({ truncateFrom, entries });
  }

  persisted(seq: number): void {
    invariant(seq <= this.#seq, 'only-writes-that-were-asked-end', () => `${seq} of ${this.#seq}`);
    this.#durableSeq = Math.max(this.#durableSeq, seq);
  }

  /** Of what a copy has dropped since, nothing counts. */
  hasApplied(upTo: number): void {
    if (upTo <= this.#commit) this.#applied = Math.max(this.#applied, upTo);
  }

  /** Forgets entries, but not those that the buckets do not have. */
  forget(upTo: number): void {
    const index = Math.min(upTo, this.#applied);
    if (index <= this.log.base.index) return;
    this.log.forget(index);
    this.#persist({ base: this.log.base });
  }

  beginCopy(copy: number): void {
    this.#drop({ epoch: this.#installed, copy, cursor: '' });
  }

  takePart(part: CopyPart): void {
    this.#copy = { ...this.#copy, cursor: part.to };
    this.#persist({ copy: { step: 'part', part } });
  }

  /** Everything up to the base is committed: the primary has applied it. */
  endCopy(part: CopyPart, base: LogBase): void {
    this.#copy = { ...this.#copy, cursor: undefined };
    this.log.reset(base);
    this.#commit = base.index;
    this.#applied = base.index;
    this.#persist({ copy: { step: 'end', part, base } });
  }

  /** Whether that is news. */
  commitUpTo(index: number): boolean {
    if (index <= this.#commit) return false;
    const { lastIndex } = this.log;
    invariant(index <= lastIndex, 'only-known-entries-are-committed', () => `${index} of ${lastIndex}`);
    this.#commit = index;
    this.emit({ type: 'apply', upTo: index });
    return true;
  }

  /** The replica is an empty one from now on, but for its epoch. */
  #drop(copy: DurableReplica['copy'], installed?: Epoch): number {
    this.#copy = copy;
    this.log.reset(NOTHING_FORGOTTEN);
    this.#commit = 0;
    this.#applied = 0;
    return this.#persist({ installed, copy: { step: 'drop', ...copy } });
  }

  #persist(write: Partial<DurableWrite>): number {
    this.#seq += 1;
    this.emit({ type: 'persist', seq: this.#seq, ...NO_WRITE, ...write });
    return this.#seq;
  }
}

const NO_WRITE: DurableWrite = {
  installed: undefined,
  truncateFrom: undefined,
  entries: [],
  base: undefined,
  copy: undefined,
};
