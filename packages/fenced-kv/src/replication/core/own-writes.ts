/** How far a primary's own log is durable, from the numbers of its writes. */
export class OwnWrites {
  /** The log is durable up to here. */
  durableIndex = 0;
  #underWay: { readonly seq: number; readonly lastIndex: number }[] = [];

  /** The log ends at `lastIndex` with this write. */
  begun(seq: number, lastIndex: number): void {
    this.#underWay.push({ seq, lastIndex });
  }

  /** This write and every earlier one are durable. */
  ended(seq: number): void {
    for (const write of this.#underWay) {
      if (write.seq <= seq) this.durableIndex = Math.max(this.durableIndex, write.lastIndex);
    }
    this.#underWay = this.#underWay.filter((write) => write.seq > seq);
  }
}
