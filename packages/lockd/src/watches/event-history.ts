/**
 * The changes of nodes that this server has applied last, whoever watches: what a client that comes back is told that was away. Chunks of
 * bytes, of which the oldest is filled again when there are as many as may be.
 *
 * A record: event (u8), bytes of the path (u16), index behind the first one of its chunk (u32), path. `children` of a parent is not in
 * it: it follows from what is created and deleted.
 */

import { MAX_PATH_LENGTH, MAX_UTF8_BYTES_PER_UNIT, NODE_EVENT_TYPES, type NodeEventType } from '@holdfast/protocol';
import type { NodeSlot, TreeLookup } from '@holdfast/state';
import { HISTORY_CHUNK_BYTES, MIN_HISTORY_CHUNK_BYTES } from '../limits.ts';
import { eventNumber } from './watch-kinds.ts';

const HEAD_BYTES = 7;
/** A sequential node's number may come behind the longest path. */
const MAX_SEQUENCE_LENGTH = 32;
const MAX_RECORD_BYTES = HEAD_BYTES + MAX_UTF8_BYTES_PER_UNIT * (MAX_PATH_LENGTH + MAX_SEQUENCE_LENGTH);
const MAX_DELTA = 2 ** 32 - 1;
/** A history of few bytes has several chunks all the same, so that it does not forget everything at once. */
const LEAST_CHUNKS = 8;

export type RecordedEvent = Exclude<NodeEventType, 'children'>;

export interface HistoryRecord {
  readonly index: number;
  readonly type: RecordedEvent;
  readonly path: string;
}

interface Chunk {
  readonly bytes: Buffer;
  end: number;
  firstIndex: number;
  lastIndex: number;
}

export class EventHistory {
  readonly #chunkBytes: number;
  readonly #maxChunks: number;
  #chunks: Chunk[] = [];
  #last: Chunk | undefined;
  #begin = 0;

  /** @param maxBytes 0: nothing is kept */
  constructor(maxBytes: number) {
    this.#chunkBytes = Math.min(
      HISTORY_CHUNK_BYTES,
      Math.max(MIN_HISTORY_CHUNK_BYTES, Math.floor(maxBytes / LEAST_CHUNKS)),
    );
    this.#maxChunks = maxBytes === 0 ? 0 : Math.max(1, Math.floor(maxBytes / this.#chunkBytes));
  }

  /** Every change behind that index is in it. */
  get begin(): number {
    return this.#begin;
  }

  get bytes(): number {
    return this.#chunks.length * this.#chunkBytes;
  }

  /** From now on it knows nothing of what happened up to there. */
  reset(index: number): void {
    this.#chunks = [];
    this.#last = undefined;
    this.#begin = index;
  }

  record(type: RecordedEvent, node: NodeSlot, index: number, tree: Pick<TreeLookup, 'copyPath'>): void {
    if (this.#maxChunks === 0) {
      this.#begin = index;
      return;
    }
    let chunk = this.#last;
    if (
      chunk === undefined ||
      chunk.end + MAX_RECORD_BYTES > this.#chunkBytes ||
      index - chunk.firstIndex > MAX_DELTA
    ) {
      chunk = this.#next(index);
    }
    const { bytes } = chunk;
    const start = chunk.end;
    const end = tree.copyPath(node, bytes, start + HEAD_BYTES);
    const length = end - start - HEAD_BYTES;
    const delta = index - chunk.firstIndex;
    bytes[start] = eventNumber(type);
    bytes[start + 1] = length;
    bytes[start + 2] = length >>> 8;
    bytes[start + 3] = delta;
    bytes[start + 4] = delta >>> 8;
    bytes[start + 5] = delta >>> 16;
    bytes[start + 6] = delta >>> 24;
    chunk.end = end;
    chunk.lastIndex = index;
  }

  /** Calls `heard` with every change behind that index, which must not be before {@link begin}, until it returns false. */
  replay(from: number, heard: (record: HistoryRecord) => boolean): void {
    for (let at = this.#firstBehind(from); at < this.#chunks.length; at += 1) {
      const { bytes, end, firstIndex } = this.#chunks[at] as Chunk;
      for (let start = 0; start < end;) {
        const length = bytes.readUInt16LE(start + 1);
        const next = start + HEAD_BYTES + length;
        const index = firstIndex + bytes.readUInt32LE(start + 3);
        if (index > from) {
          const type = NODE_EVENT_TYPES[bytes[start] as number] as RecordedEvent;
          const path = length === 0 ? '/' : bytes.toString('utf8', start + HEAD_BYTES, next);
          if (!heard({ index, type, path })) return;
        }
        start = next;
      }
    }
  }

  /** The first chunk with a change behind that index. */
  #firstBehind(index: number): number {
    let low = 0;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#chunks[middle] as Chunk).lastIndex > index) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #next(index: number): Chunk {
    const oldest = this.#chunks.length === this.#maxChunks ? this.#chunks.shift() : undefined;
    // What else the entry did whose change was the last in it may be in the next chunk: only what is behind it is whole.
    if (oldest !== undefined) this.#begin = oldest.lastIndex;
    const bytes = oldest?.bytes ?? Buffer.allocUnsafeSlow(this.#chunkBytes);
    const chunk: Chunk = { bytes, end: 0, firstIndex: index, lastIndex: index };
    this.#chunks.push(chunk);
    this.#last = chunk;
    return chunk;
  }
}
