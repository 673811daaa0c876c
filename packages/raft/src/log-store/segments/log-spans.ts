/**
 * Where on disk the entries are: a sparse index from log indexes to runs of whole batches ("spans"). Within a span nothing is cut, so
 * that decoding it in order gives its entries; a span that lost its end to a truncation is never continued.
 */

import { nextIndex, previousIndex, type LogIndex } from '../../core/index.ts';

/** A span grows until it has this many bytes: what a read in its middle decodes in vain, at most. */
const SPAN_BYTES = 64 * 1024;

export interface BatchPlace {
  /** The segment's number. */
  readonly segment: number;
  readonly position: number;
  readonly end: number;
}

export interface Span extends BatchPlace {
  readonly firstIndex: LogIndex;
  /** Entries behind it that the bytes may hold are no longer in the log. */
  readonly lastIndex: LogIndex;
}

/** Grows in place: the last span does with every write. */
type GrowingSpan = { -readonly [Field in keyof Span]: Span[Field] };

export class LogSpans {
  readonly #spans: GrowingSpan[] = [];
  #closed = true;
  #truncations = 0;

  /** Grows with each truncation, so that a read notices one that came between. */
  get truncations(): number {
    return this.#truncations;
  }

  /** A batch that was written at `place` with entries from `firstIndex` to `lastIndex`, which follow what is there. */
  append(firstIndex: LogIndex, lastIndex: LogIndex, place: BatchPlace): void {
    const last = this.#spans.at(-1);
    const continues =
      last !== undefined &&
      !this.#closed &&
      last.segment === place.segment &&
      nextIndex(last.lastIndex) === firstIndex &&
      last.end - last.position < SPAN_BYTES;
    if (continues) {
      last.lastIndex = lastIndex;
      last.end = place.end;
    } else {
      this.#spans.push({ segment: place.segment, position: place.position, end: place.end, firstIndex, lastIndex });
    }
    this.#closed = false;
  }

  truncateFrom(index: LogIndex): void {
    while ((this.#spans.at(-1)?.firstIndex ?? 0) >= index) this.#spans.pop();
    const last = this.#spans.at(-1);
    if (last !== undefined && last.lastIndex >= index) last.lastIndex = previousIndex(index);
    this.#closed = true;
    this.#truncations += 1;
  }

  /** Those segments are gone. */
  dropSegmentsBefore(segment: number): void {
    const first = this.#spans.findIndex((span) => span.segment >= segment);
    this.#spans.splice(0, first < 0 ? this.#spans.length : first);
  }

  clear(): void {
    this.#spans.length = 0;
    this.#closed = true;
    this.#truncations += 1;
  }

  /** The span that holds `index`, as it is now; undefined when none does. */
  find(index: LogIndex): Span | undefined {
    let low = 0;
    let high = this.#spans.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#spans[middle]?.firstIndex ?? Infinity) <= index) low = middle + 1;
      else high = middle;
    }
    const span = this.#spans[low - 1];
    return span !== undefined && index <= span.lastIndex ? { ...span } : undefined;
  }
}
