/**
 * The changes of nodes that this server has applied last, whoever watches: what a client that comes back is told that was away. Chunks of
 * bytes, of which the oldest is filled again when there are as many as may be.
 *
 * A record: event (u8; with its highest bit its path follows), index behind the first one of its chunk (u32), where in the chunk its path
 * is (u32) and how long (u16). What is changed or deleted mostly was created a moment ago: its path is there. `children` of a parent is
 * not in it: it follows from what is created and deleted.
 */

import { MAX_PATH_LENGTH, MAX_UTF8_BYTES_PER_UNIT, NODE_EVENT_TYPES, type NodeEventType } from '@holdfast/protocol';
import type { NodeSlot, TreeLookup } from '@holdfast/state';
import { HISTORY_CHUNK_BYTES, MIN_HISTORY_CHUNK_BYTES } from '../limits.ts';
import type { PathFilter } from './paths/path-filter.ts';
import { eventNumber } from './watch-kinds.ts';

const HEAD_BYTES = 11;
const PATH_FOLLOWS = 0x80;
const SLASH = 0x2f;
/** Nodes whose paths are known to be in the present chunk: for each its slot, where its path is, and how long. */
const KNOWN_PLACES = 1_024;
/** A power of two, so that what is known of a node is in one line of the processor's cache. */
const KNOWN_WORDS = 4;
const NOBODY = 0xffff_ffff;
/** What is copied byte by byte. */
const SHORT_BYTES = 64;
/** A sequential node's number may come behind the longest path. */
const MAX_SEQUENCE_LENGTH = 32;
const MAX_RECORD_BYTES = HEAD_BYTES + MAX_UTF8_BYTES_PER_UNIT * (MAX_PATH_LENGTH + MAX_SEQUENCE_LENGTH);
const MAX_DELTA = 2 ** 32 - 1;
/** So often it is known where in a chunk an index is: who was told almost everything does not look through all of it. */
const MARK_BYTES = 4 * 1024;
/** A history of few bytes has several chunks all the same, so that it does not forget everything at once. */
const LEAST_CHUNKS = 8;

export type RecordedEvent = Exclude<NodeEventType, 'children'>;

export interface HistoryRecord {
  readonly index: number;
  readonly type: RecordedEvent;
  readonly path: string;
}

type PathSource = Pick<TreeLookup, 'root' | 'parent' | 'copyPath' | 'copyName'>;

interface Chunk {
  readonly bytes: Buffer;
  end: number;
  firstIndex: number;
  lastIndex: number;
  /** Where some of the records begin, and the index of each of these. */
  readonly marks: { readonly start: number; readonly index: number }[];
}

export class EventHistory {
  readonly #chunkBytes: number;
  readonly #maxChunks: number;
  #chunks: Chunk[] = [];
  #last: Chunk | undefined;
  #begin = 0;
  /** By the low bits of their slots. */
  readonly #known = new Uint32Array(KNOWN_WORDS * KNOWN_PLACES).fill(NOBODY);

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
    this.#known.fill(NOBODY);
    this.#begin = index;
  }

  record(type: RecordedEvent, node: NodeSlot, index: number, tree: PathSource): void {
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
    const { bytes, end: start, marks } = chunk;
    if (start >= marks.length * MARK_BYTES) marks.push({ start, index });
    const known = this.#known;
    const place = placeOf(node);
    const isKnown = type !== 'created' && known[place] === node;
    if (isKnown) chunk.end = start + HEAD_BYTES;
    else chunk.end = this.#writePath(bytes, node, start + HEAD_BYTES, tree);
    const offset = known[place + 1] as number;
    const length = known[place + 2] as number;
    const delta = index - chunk.firstIndex;
    bytes[start] = isKnown ? eventNumber(type) : eventNumber(type) | PATH_FOLLOWS;
    bytes[start + 1] = delta;
    bytes[start + 2] = delta >>> 8;
    bytes[start + 3] = delta >>> 16;
    bytes[start + 4] = delta >>> 24;
    bytes[start + 5] = offset;
    bytes[start + 6] = offset >>> 8;
    bytes[start + 7] = offset >>> 16;
    bytes[start + 8] = offset >>> 24;
    bytes[start + 9] = length;
    bytes[start + 10] = length >>> 8;
    chunk.lastIndex = index;
    // Another node may get the slot.
    if (type === 'deleted') known[place] = NOBODY;
  }

  /** Returns its end. The node's path is known from then on, and its parent's. */
  #writePath(bytes: Buffer, node: NodeSlot, at: number, tree: PathSource): number {
    if (node === tree.root) {
      this.#know(node, at, 0);
      return at;
    }
    const parent = tree.parent(node);
    const known = this.#known;
    const place = placeOf(parent);
    let end: number;
    if (known[place] === parent) {
      const from = known[place + 1] as number;
      end = at + (known[place + 2] as number);
      copyWithin(bytes, at, from, end - at);
    } else {
      end = tree.copyPath(parent, bytes, at);
      this.#know(parent, at, end - at);
    }
    bytes[end] = SLASH;
    end = tree.copyName(node, bytes, end + 1);
    this.#know(node, at, end - at);
    return end;
  }

  #know(node: NodeSlot, offset: number, length: number): void {
    const known = this.#known;
    const place = placeOf(node);
    known[place] = node;
    known[place + 1] = offset;
    known[place + 2] = length;
  }

  /**
   * Calls `heard` with every change behind that index, which must not be before {@link begin}, until it returns false; of those that the
   * filter knows to concern nobody, with none.
   */
  replay(from: number, heard: (record: HistoryRecord) => boolean, filter?: PathFilter): void {
    for (let at = this.#firstBehind(from); at < this.#chunks.length; at += 1) {
      const chunk = this.#chunks[at] as Chunk;
      const { bytes, end, firstIndex } = chunk;
      for (let start = startFor(chunk, from); start < end;) {
        const event = bytes[start] as number;
        const index = firstIndex + u32(bytes, start + 1);
        const offset = u32(bytes, start + 5);
        const length = (bytes[start + 9] as number) | ((bytes[start + 10] as number) << 8);
        const next = start + HEAD_BYTES + (event < PATH_FOLLOWS ? 0 : length);
        if (index > from) {
          if (filter === undefined || filter.mayConcern(bytes, offset, offset + length)) {
            const type = NODE_EVENT_TYPES[event & ~PATH_FOLLOWS] as RecordedEvent;
            const path = length === 0 ? '/' : bytes.toString('utf8', offset, offset + length);
            if (!heard({ index, type, path })) return;
          }
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
    const chunk: Chunk = { bytes, end: 0, firstIndex: index, lastIndex: index, marks: [] };
    this.#chunks.push(chunk);
    this.#known.fill(NOBODY);
    this.#last = chunk;
    return chunk;
  }
}

/** Of what is known of that node. */
function placeOf(node: NodeSlot): number {
  return KNOWN_WORDS * (node & (KNOWN_PLACES - 1));
}

/** Every change of the chunk behind that index is from there on: those before the last mark of no higher index have no higher one. */
function startFor({ marks }: Chunk, from: number): number {
  let low = 0;
  let high = marks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((marks[middle] as Chunk['marks'][number]).index <= from) low = middle + 1;
    else high = middle;
  }
  return marks[low - 1]?.start ?? 0;
}

/** A call out of compiled code costs more than the few bytes that most paths have. */
function copyWithin(bytes: Buffer, to: number, from: number, length: number): void {
  if (length > SHORT_BYTES) bytes.copyWithin(to, from, from + length);
  else for (let at = 0; at < length; at += 1) bytes[to + at] = bytes[from + at] as number;
}

/** As Buffer reads it, without its checks. */
function u32(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16);
  return (low | ((bytes[at + 3] as number) << 24)) >>> 0;
}
