/** Items of many owners, taken in turn: each owner's in their order, one of each before the next of any. Whoever has many waits for himself. */

export class FairQueue<Owner, Item> {
  readonly #items = new Map<Owner, Item[]>();
  /** Goes once through all who have items, those among them who come meanwhile. To move each to the end instead costs more than all else. */
  #round = this.#items.entries();
  /** Those whose turn does not come until they are resumed. */
  readonly #suspended = new Map<Owner, Item[]>();
  /** Of those whose turn comes. */
  #size = 0;

  /** Without those of owners that are suspended. */
  get size(): number {
    return this.#size;
  }

  /** In the order in which they were suspended. */
  get suspended(): Iterable<Owner> {
    return this.#suspended.keys();
  }

  get suspendedOwners(): number {
    return this.#suspended.size;
  }

  push(owner: Owner, item: Item): void {
    const waiting = this.#suspended.get(owner);
    if (waiting !== undefined) {
      waiting.push(item);
      return;
    }
    this.#size += 1;
    const items = this.#items.get(owner);
    if (items === undefined) this.#items.set(owner, [item]);
    else items.push(item);
  }

  /** Before the others of its owner, who is the last in turn. */
  putBack(owner: Owner, item: Item): void {
    this.#size += 1;
    const items = this.#items.get(owner) ?? [];
    items.unshift(item);
    this.#items.delete(owner);
    this.#items.set(owner, items);
  }

  /** With an item that was taken, and comes first again. */
  suspend(owner: Owner, item: Item): void {
    const items = this.#items.get(owner) ?? [];
    this.#size -= items.length;
    this.#items.delete(owner);
    this.#suspended.set(owner, [item, ...items]);
  }

  resume(owner: Owner): void {
    const items = this.#suspended.get(owner);
    if (items === undefined) return;
    this.#suspended.delete(owner);
    this.#items.set(owner, items);
    this.#size += items.length;
  }

  next(): Item | undefined {
    for (;;) {
      const turn = this.#round.next();
      if (turn.done === true) {
        if (this.#items.size === 0) return undefined;
        this.#round = this.#items.entries();
        continue;
      }
      const [owner, items] = turn.value;
      const item = items.shift();
      if (items.length === 0) this.#items.delete(owner);
      if (item === undefined) continue;
      this.#size -= 1;
      return item;
    }
  }
}
