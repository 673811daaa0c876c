/**
 * What was changed, in the order in which it was told, as bytes: the oldest goes first. Objects would be looked at by each garbage collection
 * for as long as they are remembered, which costs more than the writes themselves.
 *
 *     for each revision: its length (4), length of the bucket's name (1), the name, the revision (8), the number of its changes (4)
 *     for each change: its type (1), the length of its value (4), the length of its key in UTF-8 (2), the key
 */

import { readUint32, readUint64, writeUint32, writeUint64 } from '../integers.ts';
import type { BucketRevision, Change } from './revision.ts';

/** A piece of the log; a revision that is longer has one of its own. */
const PIECE_BYTES = 64 * 1024;
/** Beside the name of the bucket. */
const REVISION_BYTES = 17;
/** Beside the key. */
const CHANGE_BYTES = 7;

const TYPES: readonly Change['type'][] = ['put', 'delete', 'expired'];
/** Of a change that has no value. */
const NO_VALUE = 0xffff_ffff;

interface Piece {
  /** The place of its first byte in the log. */
  readonly start: number;
  readonly bytes: Buffer;
  end: number;
}

export class ChangeLog {
  #pieces: Piece[] = [];
  /** The place of the oldest revision. */
  #first = 0;
  /** Where the next one goes. */
  #end = 0;

  /** Of what is remembered. */
  get bytes(): number {
    return this.#end - this.#first;
  }

  /** Returns its place. */
  append({ bucket, revision, changes }: BucketRevision): number {
    let length = REVISION_BYTES + bucket.length;
    for (const { key } of changes) length += CHANGE_BYTES + Buffer.byteLength(key);
    const piece = this.#pieceFor(length);
    const { bytes } = piece;
    let at = piece.end;
    writeUint32(bytes, at, length);
    bytes[at + 4] = bucket.length;
    at += 5 + bytes.write(bucket, at + 5, 'latin1');
    writeUint64(bytes, at, revision);
    writeUint32(bytes, at + 8, changes.length);
    at += 12;
    for (const { type, key, bytes: valueBytes = NO_VALUE } of changes) {
      bytes[at] = TYPES.indexOf(type);
      writeUint32(bytes, at + 1, valueBytes);
      const keyBytes = bytes.write(key, at + CHANGE_BYTES);
      bytes.writeUInt16BE(keyBytes, at + 5);
      at += CHANGE_BYTES + keyBytes;
    }
    const place = this.#end;
    piece.end += length;
    this.#end += length;
    return place;
  }

  /** Of a revision that is remembered. */
  at(place: number): BucketRevision {
    const piece = this.#pieceAt(place);
    const { bytes } = piece;
    const start = place - piece.start;
    const name = start + 5;
    let at = name + (bytes[start + 4] ?? 0);
    const bucket = bytes.toString('latin1', name, at);
    const revision = readUint64(bytes, at);
    const count = readUint32(bytes, at + 8);
    at += 12;
    const changes: Change[] = [];
    for (let index = 0; index < count; index += 1) {
      const valueBytes = readUint32(bytes, at + 1);
      const end = at + CHANGE_BYTES + bytes.readUInt16BE(at + 5);
      const change = { type: TYPES[bytes[at] ?? 0] ?? 'put', key: bytes.toString('utf8', at + CHANGE_BYTES, end) };
      changes.push(valueBytes === NO_VALUE ? change : { ...change, bytes: valueBytes });
      at = end;
    }
    return { bucket, revision, changes };
  }

  /** Which one it was; undefined: there is none. */
  dropOldest(): Pick<BucketRevision, 'bucket' | 'revision'> | undefined {
    const piece = this.#pieces[0];
    if (piece === undefined || this.#first === this.#end) return undefined;
    const start = this.#first - piece.start;
    const nameEnd = start + 5 + (piece.bytes[start + 4] ?? 0);
    const bucket = piece.bytes.toString('latin1', start + 5, nameEnd);
    this.#first += readUint32(piece.bytes, start);
    if (this.#first === piece.start + piece.end && this.#pieces.length > 1) this.#pieces.shift();
    return { bucket, revision: readUint64(piece.bytes, nameEnd) };
  }

  #pieceFor(length: number): Piece {
    const last = this.#pieces.at(-1);
    if (last !== undefined && last.end + length <= last.bytes.length) return last;
    const piece = { start: this.#end, bytes: Buffer.allocUnsafeSlow(Math.max(length, PIECE_BYTES)), end: 0 };
    // What was forgotten to the end is of no use.
    if (this.#first === this.#end) this.#pieces = [];
    this.#pieces.push(piece);
    return piece;
  }

  #pieceAt(place: number): Piece {
    let [low, high] = [0, this.#pieces.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#pieces[middle]?.start ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    const piece = this.#pieces[low];
    if (piece === undefined || place < this.#first || place >= this.#end)
      throw new RangeError(`nothing is remembered at ${place}`);
    return piece;
  }
}
