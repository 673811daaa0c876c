import type { LogBase, ReplicaId } from './types.ts';

/** What a primary knows of another replica, in its own epoch. */
export class Progress {
  readonly replica: ReplicaId;
  /** Whether it has installed the epoch: before that it takes no entries. */
  installed = false;
  /** It has the primary's log up to here, durably. */
  match = 0;
  /** The first entry that has not been sent. */
  next = 1;
  /** Whether what lies before it has been sent and not answered is not known: it is not counted. */
  #countedFrom = 1;
  /** The last entries of the appends that were sent, in their order. */
  #ends: number[] = [];
  /** The number of the last copy that it was sent, in this epoch: answers that do not follow it are old. */
  copy = 0;
  /** The copy is not complete: from where on the replica will need entries. */
  copying: LogBase | undefined;
  /** The last round of reads that it has confirmed. */
  round = 0;
  /** It has not answered for too long; ends when it answers. */
  suspected = false;

  constructor(replica: ReplicaId) {
    this.replica = replica;
  }

  /** Entries that were sent and not answered. */
  get inFlight(): number {
    return this.next - Math.max(this.match + 1, this.#countedFrom);
  }

  /** Appends that were sent and not answered. */
  get inFlightAppends(): number {
    return this.#ends.length;
  }

  /** As many entries as that, which may be none. */
  sent(entries: number): void {
    this.next += entries;
    this.#ends.push(this.next - 1);
  }

  hasInstalled(lastIndex: number, ownLastIndex: number): void {
    this.installed = true;
    this.#sendFrom(Math.max(this.match, Math.min(lastIndex, ownLastIndex)) + 1);
  }

  hasAppended(index: number): void {
    this.match = Math.max(this.match, index);
    this.next = Math.max(this.next, this.match + 1);
    this.#ends = this.#ends.filter((end) => end > this.match);
  }

  /** It will have nothing but what the copy brings. */
  beginCopy(base: LogBase): void {
    this.copy += 1;
    this.copying = base;
    this.match = 0;
    this.#sendFrom(base.index + 1);
  }

  endCopy(): void {
    this.copying = undefined;
  }

  /**
   * It has dropped entries, since it had others before them, or none. Returns whether it must be asked what it has: where it is known by
   * now, they are sent again, and no more.
   */
  disagrees(prevIndex: number, tryAfter: number): boolean {
    this.#sendFrom(Math.max(this.match, tryAfter) + 1);
    return prevIndex > this.match;
  }

  /** What was sent and not answered may be lost. */
  restart(): void {
    this.installed = false;
    this.#sendFrom(this.match + 1);
  }

  #sendFrom(index: number): void {
    this.next = index;
    this.#countedFrom = index;
    this.#ends = [];
  }
}
