/**
 * What one server's log must be, from what its replica said: in memory (every write that it has asked for), and on disk (every write
 * that is known to be durable). Writes that were under way at a crash may be on disk or not, in their order.
 */

import type { DurableState, Effect, LogIndex, Term, WriteSeq } from '@holdfast/raft';

export type Persist = Extract<Effect, { type: 'persist' }>;

/** Of an entry that a start does not report, since a snapshot holds it. */
const UNKNOWN_TERM = -1;

/** Term and vote, and the term of every entry; place 0 stands for before the log. */
export class LogImage {
  term = 0;
  votedFor = 0;
  readonly terms: number[] = [0];

  get lastIndex(): number {
    return this.terms.length - 1;
  }

  /** `committed`: the terms of the committed entries, which is what the snapshots hold. */
  apply({ hardState, snapshot, truncateFrom, entries }: Persist, committed: readonly number[]): void {
    if (hardState !== undefined) {
      this.term = hardState.term;
      this.votedFor = hardState.votedFor;
    }
    if (snapshot !== undefined) this.beginAt(snapshot.index, committed);
    if (truncateFrom !== undefined) this.terms.length = Math.min(this.terms.length, truncateFrom);
    for (const entry of entries) this.terms.push(entry.term);
  }

  /** The log goes on behind a snapshot, as if it had all the entries that this holds. */
  beginAt(index: number, committed: readonly number[]): void {
    this.terms.length = 0;
    for (const term of committed.slice(0, index + 1)) this.terms.push(term);
  }

  /** Takes from `terms` those of the entries that a compacted log does not have. */
  completeFrom(terms: readonly number[]): void {
    for (let index = 0; index < this.terms.length && this.terms[index] === UNKNOWN_TERM; index += 1) {
      this.terms[index] = terms[index] ?? UNKNOWN_TERM;
    }
  }

  copy(): LogImage {
    const copy = new LogImage();
    copy.term = this.term;
    copy.votedFor = this.votedFor;
    copy.terms.length = 0;
    for (const term of this.terms) copy.terms.push(term);
    return copy;
  }

  equals(other: LogImage): boolean {
    return (
      this.term === other.term &&
      this.votedFor === other.votedFor &&
      this.terms.length === other.terms.length &&
      this.terms.every((term, index) => {
        const theirs = other.terms[index];
        return term === theirs || term === UNKNOWN_TERM || theirs === UNKNOWN_TERM;
      })
    );
  }

  toString(): string {
    return `term ${this.term}, vote for ${this.votedFor}, last entry ${this.lastIndex} of term ${this.terms.at(-1)}`;
  }
}

export function imageOf(durable: DurableState): LogImage {
  const image = new LogImage();
  image.term = durable.hardState.term;
  image.votedFor = durable.hardState.votedFor;
  if (durable.base.index > 0) {
    image.terms.length = 0;
    for (let index = 0; index < durable.base.index; index += 1) image.terms.push(UNKNOWN_TERM);
    image.terms.push(durable.base.term);
  }
  durable.terms.forEach((mark, position) => {
    const next: LogIndex | number = durable.terms[position + 1]?.firstIndex ?? durable.lastIndex + 1;
    for (let index: number = mark.firstIndex; index < next; index += 1) image.terms.push(mark.term as Term);
  });
  return image;
}

export class ServerLog {
  /** As the running replica sees it. */
  memory = new LogImage();
  /** What a power failure leaves at least. */
  durable = new LogImage();
  #underWay: Persist[] = [];
  readonly #committed: readonly number[];

  /** `committed`: the terms of the committed entries, by index; grows. */
  constructor(committed: readonly number[]) {
    this.#committed = committed;
  }

  write(persist: Persist): void {
    this.memory.apply(persist, this.#committed);
    this.#underWay.push(persist);
  }

  persisted(seq: WriteSeq): void {
    let done = 0;
    for (const persist of this.#underWay) {
      if (persist.seq > seq) break;
      this.durable.apply(persist, this.#committed);
      done += 1;
    }
    this.#underWay.splice(0, done);
  }

  /**
   * A start found this on disk, and began with a snapshot of `snapshotIndex`. Says what it should have been, if it is none of what it
   * may be.
   */
  opened(found: LogImage, snapshotIndex: number): string | undefined {
    const expected = this.durable.copy();
    const underWay = this.#underWay;
    this.#underWay = [];
    const atLeast = expected.toString();
    let explained = false;
    for (const persist of [undefined, ...underWay]) {
      if (persist !== undefined) expected.apply(persist, this.#committed);
      const restarted = this.#restarted(expected, snapshotIndex);
      const match = [expected, restarted].find((image) => image?.equals(found) === true);
      if (match === undefined) continue;
      found.completeFrom(match.terms);
      explained = true;
      break;
    }
    // What a snapshot holds is committed.
    found.completeFrom(this.#committed);
    this.memory = found.copy();
    this.durable = found.copy();
    return explained ? undefined : atLeast;
  }

  /** What a start makes of a log that ends before a received snapshot, or differs from it: it was about to be replaced. */
  #restarted(image: LogImage, snapshotIndex: number): LogImage | undefined {
    const term = this.#committed[snapshotIndex];
    if (term === undefined || image.terms[snapshotIndex] === term) return undefined;
    const restarted = image.copy();
    restarted.beginAt(snapshotIndex, this.#committed);
    if (restarted.term < term) [restarted.term, restarted.votedFor] = [term, 0];
    return restarted;
  }
}
