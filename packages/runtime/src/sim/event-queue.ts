/** The future of a simulated world: a binary heap of events ordered by (time, sequence), so that ties have one order. */

export interface SimEvent {
  readonly timeTicks: number;
  readonly sequence: number;
  /** What happens and to whom, for the trace. */
  readonly kind: string;
  run(): void;
  cancelled: boolean;
}

/** Below this a heap with many cancelled events is not worth rebuilding. */
const MIN_REBUILD_SIZE = 1_024;

export class EventQueue {
  #heap: SimEvent[] = [];
  #cancelled = 0;

  push(event: SimEvent): void {
    this.#heap.push(event);
    this.#siftUp(this.#heap.length - 1);
  }

  cancel(event: SimEvent): void {
    if (event.cancelled) return;
    event.cancelled = true;
    this.#cancelled += 1;
    // Timers that are re-armed with every message would otherwise fill the heap until they are due.
    if (this.#heap.length > MIN_REBUILD_SIZE && this.#cancelled * 2 > this.#heap.length) this.#rebuild();
  }

  /** The next event, still in the queue; undefined when nothing is left to happen. */
  peek(): SimEvent | undefined {
    let first = this.#heap[0];
    while (first?.cancelled === true) {
      this.#removeFirst();
      this.#cancelled = Math.max(0, this.#cancelled - 1);
      first = this.#heap[0];
    }
    return first;
  }

  pop(): SimEvent | undefined {
    const first = this.peek();
    if (first !== undefined) this.#removeFirst();
    return first;
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#siftDown(0);
  }

  #rebuild(): void {
    this.#heap = this.#heap.filter((event) => !event.cancelled).toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
    this.#cancelled = 0;
  }

  #siftUp(start: number): void {
    let child = start;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!this.#swapIfBefore(child, parent)) return;
      child = parent;
    }
  }

  #siftDown(start: number): void {
    let parent = start;
    for (;;) {
      const left = parent * 2 + 1;
      if (left >= this.#heap.length) return;
      const right = left + 1;
      const child = right < this.#heap.length && this.#isBeforeAt(right, left) ? right : left;
      if (!this.#swapIfBefore(child, parent)) return;
      parent = child;
    }
  }

  #isBeforeAt(a: number, b: number): boolean {
    const first = this.#heap[a];
    const second = this.#heap[b];
    return first !== undefined && second !== undefined && isBefore(first, second);
  }

  #swapIfBefore(child: number, parent: number): boolean {
    const lower = this.#heap[child];
    const upper = this.#heap[parent];
    if (lower === undefined || upper === undefined || !isBefore(lower, upper)) return false;
    this.#heap[parent] = lower;
    this.#heap[child] = upper;
    return true;
  }
}

function isBefore(a: SimEvent, b: SimEvent): boolean {
  return a.timeTicks < b.timeTicks || (a.timeTicks === b.timeTicks && a.sequence < b.sequence);
}
