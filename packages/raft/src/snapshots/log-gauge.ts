/** How many bytes of entries were applied, and which index lies how far back: when to take a snapshot, and what to keep behind it. */

import { entryBytes, logIndex, type Entry, type LogIndex } from '../core/index.ts';

/** Marks within the trailing margin: its precision. */
const MARKS = 16;

export class LogGauge {
  readonly #markBytes: number;
  /** Ascending; each with the bytes that were applied up to and with its index. */
  #marks: { readonly index: LogIndex; readonly bytes: number }[] = [];
  #bytes = 0;

  constructor(trailingBytes: number) {
    this.#markBytes = Math.max(1, Math.floor(trailingBytes / MARKS));
  }

  /** Bytes of all entries that were applied since the start. */
  get bytes(): number {
    return this.#bytes;
  }

  applied(entry: Entry): void {
    this.#bytes += entryBytes(entry);
    if (this.#bytes - (this.#marks.at(-1)?.bytes ?? 0) < this.#markBytes) return;
    this.#marks.push({ index: entry.index, bytes: this.#bytes });
  }

  /** The highest known index at least so many bytes before the point at which `atBytes` were applied; 0 when none is known. */
  indexBefore(atBytes: number, trailingBytes: number): LogIndex {
    const mark = this.#marks.findLast(({ bytes }) => bytes <= atBytes - trailingBytes);
    return mark?.index ?? logIndex(0);
  }

  /** Nothing up to here will be asked for again. */
  forget(upTo: LogIndex): void {
    const first = this.#marks.findIndex(({ index }) => index > upTo);
    this.#marks = first < 0 ? this.#marks.slice(-1) : this.#marks.slice(Math.max(0, first - 1));
  }
}
