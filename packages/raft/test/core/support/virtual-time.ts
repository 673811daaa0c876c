/** Time that passes when nothing is left to do: what was planned first for a moment is done first. */

interface Planned {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export class VirtualTime {
  now = 0;
  #queue: Planned[] = [];
  #order = 0;

  schedule(delayMs: number, run: () => void): void {
    this.#push({ at: this.now + delayMs, order: this.#order, run });
    this.#order += 1;
  }

  /** Runs until the condition holds; false when it does not within `maxMs`. */
  run(maxMs: number, until: () => boolean = () => false): boolean {
    const end = this.now + maxMs;
    for (;;) {
      if (until()) return true;
      const next = this.#pop();
      if (next === undefined || next.at > end) {
        if (next !== undefined) this.#push(next);
        this.now = end;
        return until();
      }
      this.now = Math.max(this.now, next.at);
      next.run();
    }
  }

  #push(item: Planned): void {
    const heap = this.#queue;
    heap.push(item);
    let child = heap.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!before(heap[child], heap[parent])) break;
      swap(heap, child, parent);
      child = parent;
    }
  }

  #pop(): Planned | undefined {
    const heap = this.#queue;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    heap[0] = last;
    let parent = 0;
    for (;;) {
      let least = parent;
      if (before(heap[2 * parent + 1], heap[least])) least = 2 * parent + 1;
      if (before(heap[2 * parent + 2], heap[least])) least = 2 * parent + 2;
      if (least === parent) return top;
      swap(heap, least, parent);
      parent = least;
    }
  }
}

function before(a: Planned | undefined, b: Planned | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function swap(heap: Planned[], a: number, b: number): void {
  const kept = heap[a];
  const other = heap[b];
  if (kept === undefined || other === undefined) return;
  heap[a] = other;
  heap[b] = kept;
}
