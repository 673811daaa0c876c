/**
 * The content of one simulated file: what a reader sees (the page cache), what survives a power failure, and the
 * operations in between, in the order in which they were issued. Leaves names, latency and faults to the disk.
 */

import type { Random } from '../../random.ts';

/** What a disk writes whole or not at all. */
export const SECTOR_BYTES = 512;

/**
 * What a power failure does to operations that were not yet durable: none of them survive, all of them do, or a random
 * subset of their sectors does.
 */
export type Tear = 'none' | 'all' | 'random';

/** How many of the changes that were not yet durable a power failure took, wholly and in part. */
export interface PowerLoss {
  readonly lost: number;
  readonly torn: number;
}

export interface PendingChange {
  readonly change:
    | { readonly type: 'write'; readonly position: number; readonly bytes: Uint8Array }
    | { readonly type: 'truncate'; readonly length: number };
  durable: boolean;
  /** A sync has failed on it: the kernel takes the page for clean, no later sync writes it. */
  forgotten: boolean;
}

/** Zeros at the end take no room: a log makes its segments of them, and most are never overwritten. */
class Bytes {
  /** What lies beyond it is zeros. */
  #buffer = new Uint8Array(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  set length(length: number) {
    if (length < this.#length) this.#buffer.fill(0, length, this.#length);
    this.#length = length;
  }

  /** A gap before `position` reads as zeros. */
  write(position: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const end = position + bytes.length;
    if (end > this.#length) this.#length = end;
    if (position >= this.#buffer.length && isZeros(bytes)) return;
    this.#reserve(end);
    this.#buffer.set(bytes, position);
  }

  copy(from: number, to: number): Uint8Array {
    const end = Math.min(to, this.#length);
    const begin = Math.min(from, end);
    if (end <= this.#buffer.length) return this.#buffer.slice(begin, end);
    const bytes = new Uint8Array(end - begin);
    if (begin < this.#buffer.length) bytes.set(this.#buffer.subarray(begin));
    return bytes;
  }

  /** Apart from this one, as it is now. */
  clone(): Bytes {
    const clone = new Bytes();
    clone.#length = this.#length;
    clone.#buffer = this.#buffer.slice(0, this.#length);
    return clone;
  }

  flip(offset: number, bit: number): void {
    if (offset >= this.#length) return;
    this.#reserve(offset + 1);
    this.#buffer[offset] = (this.#buffer[offset] ?? 0) ^ (1 << bit);
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    const grown = new Uint8Array(Math.max(length, this.#buffer.length * 2));
    grown.set(this.#buffer);
    this.#buffer = grown;
  }
}

const ZEROS = new Uint8Array(4 * 1024);

function isZeros(bytes: Uint8Array): boolean {
  if (bytes[0] !== 0) return false;
  for (let at = 0; at < bytes.length; at += ZEROS.length) {
    const piece = bytes.subarray(at, at + ZEROS.length);
    if (Buffer.compare(piece, ZEROS.subarray(0, piece.length)) !== 0) return false;
  }
  return true;
}

/** Of what a program writes, which may use its buffer again. Zeros are not copied: there are whole segments of them. */
export function copyOf(bytes: Uint8Array): Uint8Array {
  return isZeros(bytes) ? new Uint8Array(bytes.length) : new Uint8Array(bytes);
}

export class DiskContent {
  #cached = new Bytes();
  #durable = new Bytes();
  /** Changes since the durable image, oldest first; a durable one stays while an older one is not. */
  #pending: PendingChange[] = [];
  /** Offsets of flipped bits that nobody has read or overwritten. */
  #flips: number[] = [];

  get length(): number {
    return this.#cached.length;
  }

  read(position: number, length: number): Uint8Array {
    return this.#cached.copy(position, position + length);
  }

  /** The content after a power failure that keeps nothing that is not durable. */
  durableBytes(): Uint8Array {
    const image = this.#durable.clone();
    for (const pending of this.#pending) if (pending.durable) applyWhole(image, pending);
    return image.copy(0, image.length);
  }

  /** How many flipped bits in this range nobody has read before. */
  takeFlips(position: number, length: number): number {
    if (this.#flips.length === 0) return 0;
    const before = this.#flips.length;
    this.#flips = this.#flips.filter((offset) => offset < position || offset >= position + length);
    return before - this.#flips.length;
  }

  write(position: number, bytes: Uint8Array): PendingChange {
    this.takeFlips(position, bytes.length);
    this.#cached.write(position, bytes);
    return this.#remember({ type: 'write', position, bytes });
  }

  truncate(length: number): PendingChange {
    this.#cached.length = length;
    this.takeFlips(length, Infinity);
    return this.#remember({ type: 'truncate', length });
  }

  makeDurable(changes: readonly PendingChange[]): void {
    for (const change of changes) if (!change.forgotten) change.durable = true;
    let applied = 0;
    for (const change of this.#pending) {
      if (!change.durable) break;
      applyWhole(this.#durable, change);
      applied += 1;
    }
    this.#pending.splice(0, applied);
  }

  /** The changes that a sync that is issued now covers. */
  pendingChanges(): readonly PendingChange[] {
    return this.#pending.filter((change) => !change.durable);
  }

  powerFailure(tear: Tear, random: Random): PowerLoss {
    let lost = 0;
    let torn = 0;
    for (const pending of this.#pending) {
      const kept = pending.durable || tear === 'all' ? 'all' : tear;
      const survived = applySurviving(this.#durable, pending, kept, random);
      if (survived === 'none') lost += 1;
      if (survived === 'part') torn += 1;
    }
    this.#pending = [];
    this.#cached = this.#durable.clone();
    return { lost, torn };
  }

  flipBit(offset: number, bit: number): void {
    if (offset >= this.#cached.length) {
      throw new RangeError(`offset ${offset} is beyond the end of the file (${this.#cached.length} bytes)`);
    }
    this.#cached.flip(offset, bit);
    this.#durable.flip(offset, bit);
    for (const { change } of this.#pending) if (change.type === 'write') flipWritten(change, offset, bit);
    this.#flips.push(offset);
  }

  #remember(change: PendingChange['change']): PendingChange {
    const pending = { change, durable: false, forgotten: false };
    this.#pending.push(pending);
    return pending;
  }
}

function applyWhole(image: Bytes, { change }: PendingChange): void {
  switch (change.type) {
    case 'write':
      return image.write(change.position, change.bytes);
    case 'truncate':
      image.length = change.length;
  }
}

function flipWritten(change: { position: number; bytes: Uint8Array }, offset: number, bit: number): void {
  const at = offset - change.position;
  const byte = change.bytes[at];
  if (byte !== undefined) change.bytes[at] = byte ^ (1 << bit);
}

/** What of a change is on the disk after the power failed. */
type Survived = 'none' | 'part' | 'whole';

function applySurviving(image: Bytes, pending: PendingChange, tear: Tear, random: Random): Survived {
  switch (tear) {
    case 'none':
      return 'none';
    case 'all':
      applyWhole(image, pending);
      return 'whole';
    case 'random':
      return applyTorn(image, pending, random);
  }
}

function applyTorn(image: Bytes, pending: PendingChange, random: Random): Survived {
  const { change } = pending;
  if (change.type === 'truncate')
    return applySurviving(image, pending, random.integer(2) === 1 ? 'all' : 'none', random);
  const end = change.position + change.bytes.length;
  // The file's length is metadata: it may be written without the content, which then reads as zeros.
  const lengthened = end > image.length && random.integer(2) === 1;
  if (lengthened) image.length = end;
  let sectors = 0;
  let written = 0;
  for (let from = change.position; from < end;) {
    const to = Math.min(end, (Math.floor(from / SECTOR_BYTES) + 1) * SECTOR_BYTES);
    sectors += 1;
    if (random.integer(2) === 1) {
      written += 1;
      image.write(from, change.bytes.subarray(from - change.position, to - change.position));
    }
    from = to;
  }
  if (written === sectors) return 'whole';
  return written > 0 || lengthened ? 'part' : 'none';
}
