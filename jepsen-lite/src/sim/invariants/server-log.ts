/**
 * What one server's log must be, from what its replica said: in memory (every write that it has asked for), and on disk (every write
 * that is known to be durable). Writes that were under way at a crash may be on disk or not, in their order.
 */

import type { DurableState, Effect, LogIndex, Term, WriteSeq } from '@holdfast/raft';

export type Persist = Extract<Effect, { type: 'persist' }>;

/** Term and vote, and the term of every entry; place 0 stands for before the log. */
export class LogImage {
  term = 0;
  votedFor = 0;
  readonly terms: number[] = [0];

  get lastIndex(): number {
    return this.terms.length - 1;
  }

  apply({ hardState, truncateFrom, entries }: Persist): void {
    if (hardState !== undefined) {
      this.term = hardState.term;
      this.votedFor = hardState.votedFor;
    }
    if (truncateFrom !== undefined) this.terms.length = Math.min(this.terms.length, truncateFrom);
    for (const entry of entries) this.terms.push(entry.term);
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
      this.terms.every((term, index) => term === other.terms[index])
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

  write(persist: Persist): void {
    this.memory.apply(persist);
    this.#underWay.push(persist);
  }

  persisted(seq: WriteSeq): void {
    let done = 0;
    for (const persist of this.#underWay) {
      if (persist.seq > seq) break;
      this.durable.apply(persist);
      done += 1;
    }
    this.#underWay.splice(0, done);
  }

  /** A start found this on disk. Says what it should have been, if it is none of what it may be. */
  opened(found: LogImage): string | undefined {
    const expected = this.durable.copy();
    const underWay = this.#underWay;
    this.#underWay = [];
    this.memory = found.copy();
    const atLeast = expected.toString();
    for (const persist of [undefined, ...underWay]) {
      if (persist !== undefined) expected.apply(persist);
      if (!expected.equals(found)) continue;
      this.durable = found.copy();
      return undefined;
    }
    this.durable = found.copy();
    return atLeast;
  }
}
