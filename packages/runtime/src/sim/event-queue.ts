/**
 * The future of a simulated world: events ordered by (time, sequence), so that ties have one order. A binary heap, and a plain
 * queue beside it for what happens without delay: the check phases, nearly half of all events.
 */

import type { EventKind } from './trace.ts';

/** What an event does. */
export interface Work {
  run(): void;
}

export interface SimEvent {
  readonly timeTicks: number;
  readonly sequence: number;
  readonly kind: EventKind;
  readonly work: Work;
  cancelled: boolean;
}

/** Below this a heap with many cancelled events is not worth rebuilding. */
const MIN_REBUILD_SIZE = 1_024;

export class EventQueue {
  #heap: SimEvent[] = [];
  #cancelled = 0;
  /** Of the present moment, in order. */
  #present: SimEvent[] = [];
  #presentDone = 0;

  push(event: SimEvent): void {
    this.#siftUp(event);
  }

  /** For an event of the present moment, and a number above all others': it is behind everything that is due. */
  pushPresent(event: SimEvent): void {
    this.#present.push(event);
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
    const present = this.#peekPresent();
    const later = this.#peekHeap();
    if (present === undefined || later === undefined) return present ?? later;
    return isBefore(later, present) ? later : present;
  }

  pop(): SimEvent | undefined {
    const first = this.peek();
    if (first === undefined) return undefined;
    if (first === this.#present[this.#presentDone]) this.#removePresent();
    else this.#removeFirst();
    return first;
  }

  #peekPresent(): SimEvent | undefined {
    let first = this.#present[this.#presentDone];
    while (first?.cancelled === true) {
      this.#removePresent();
      this.#cancelled = Math.max(0, this.#cancelled - 1);
      first = this.#present[this.#presentDone];
    }
    return first;
  }

  #removePresent(): void {
    this.#presentDone += 1;
    if (this.#presentDone < this.#present.length) return;
    this.#present.length = 0;
    this.#presentDone = 0;
  }

  #peekHeap(): SimEvent | undefined {
    let first = this.#heap[0];
    while (first?.cancelled === true) {
      this.#removeFirst();
      this.#cancelled = Math.max(0, this.#cancelled - 1);
      first = this.#heap[0];
    }
    return first;
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#siftDown(last);
  }

  #rebuild(): void {
    this.#heap = this.#heap.filter((event) => !event.cancelled).toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
    this.#cancelled = 0;
  }

  #siftUp(event: SimEvent): void {
    const heap = this.#heap;
    let hole = heap.length;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      const upper = heap[parent];
      if (upper === undefined || !isBefore(event, upper)) break;
      heap[hole] = upper;
      hole = parent;
    }
    heap[hole] = event;
  }

  /** Puts an event in the place of the first one. */
  #siftDown(event: SimEvent): void {
    const heap = this.#heap;
    let hole = 0;
    for (;;) {
      let child = hole * 2 + 1;
      let lower = heap[child];
      if (lower === undefined) break;
      const right = heap[child + 1];
      if (right !== undefined && isBefore(right, lower)) {
        child += 1;
        lower = right;
      }
      if (!isBefore(lower, event)) break;
      heap[hole] = lower;
      hole = child;
    }
    heap[hole] = event;
  }
}

function isBefore(a: SimEvent, b: SimEvent): boolean {
  return a.timeTicks < b.timeTicks || (a.timeTicks === b.timeTicks && a.sequence < b.sequence);
}
