/**
 * Messages between replicas as frames: the length of a head (4 bytes), the head as JSON, and behind it the bytes that it counts. A frame
 * that is not exactly so is refused with {@link FrameError}: its connection ends, and nothing of it counts.
 */

import type { CopyPart, Entry, LogBase, Message } from '../core/index.ts';
import { Head, isObject } from './head.ts';

/** Bytes of a frame: the largest batch, and the records that its keys need. */
export const MAX_FRAME_BYTES: number = 16 * 1024 * 1024;
/** Entries of one append. */
const MAX_FRAME_ENTRIES = 4_096;
/** Characters of a copy's cursor: a key in hexadecimal digits. */
const MAX_CURSOR_LENGTH = 4_096;
const LENGTH_BYTES = 4;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** What has come is no message of this version. */
export class FrameError extends Error {
  constructor(problem: string) {
    super(`a frame of another replica ${problem}; run the same version on all replicas of the group`);
    this.name = 'FrameError';
  }
}

export function encodeMessage(message: Message): Uint8Array {
  switch (message.type) {
    case 'append': {
      const { entries, ...rest } = message;
      const heads = entries.map(({ epoch, payload }) => [epoch, payload === undefined ? -1 : payload.length]);
      return frameOf(
        { ...rest, entries: heads },
        entries.map(({ payload }) => payload ?? new Uint8Array(0)),
      );
    }
    case 'copy': {
      const { part, ...rest } = message;
      const { chunk, ...place } = part;
      return frameOf({ ...rest, part: { ...place, bytes: chunk.length } }, [chunk]);
    }
    case 'install':
    case 'installed':
    case 'appended':
    case 'mismatch':
    case 'copied':
    case 'confirm':
    case 'confirmed':
    case 'refused':
      return frameOf(message, []);
  }
}

/** The bytes are only lent. @throws FrameError */
export function decodeMessage(frame: Uint8Array): Message {
  if (frame.length > MAX_FRAME_BYTES) throw new FrameError(`has ${frame.length} bytes, more than ${MAX_FRAME_BYTES}`);
  if (frame.length < LENGTH_BYTES) throw new FrameError('is cut');
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const end = LENGTH_BYTES + view.getUint32(0);
  if (end > frame.length) throw new FrameError('is cut');
  const bytes = new Bytes(frame.subarray(end));
  const message = messageOf(headOf(frame.subarray(LENGTH_BYTES, end)), bytes);
  bytes.assertEnd();
  return message;
}

function messageOf(head: Head, bytes: Bytes): Message {
  const type = head.text('type', 16);
  const epoch = head.integer('epoch');
  switch (type) {
    case 'install':
      return { type, epoch };
    case 'installed': {
      const cursor = head.optionalText('cursor', MAX_CURSOR_LENGTH);
      return { type, epoch, lastIndex: head.integer('lastIndex'), copy: head.integer('copy'), cursor };
    }
    case 'append': {
      const [copy, prevIndex, prevEpoch] = [head.integer('copy'), head.integer('prevIndex'), head.integer('prevEpoch')];
      const entries = entriesOf(head, prevIndex, bytes);
      return { type, epoch, copy, prevIndex, prevEpoch, commit: head.integer('commit'), entries };
    }
    case 'appended':
      return { type, epoch, copy: head.integer('copy'), index: head.integer('index') };
    case 'mismatch':
      return { type, epoch, prevIndex: head.integer('prevIndex'), tryAfter: head.integer('tryAfter') };
    case 'copy':
      return { type, epoch, copy: head.integer('copy'), base: baseOf(head.head('base')), part: partOf(head, bytes) };
    case 'copied':
      return { type, epoch, copy: head.integer('copy'), cursor: head.text('cursor', MAX_CURSOR_LENGTH) };
    case 'confirm':
    case 'confirmed':
      return { type, epoch, round: head.integer('round') };
    case 'refused':
      return { type, epoch, installed: head.integer('installed') };
    default:
      throw new FrameError(`has the unknown type ${JSON.stringify(type)}`);
  }
}

function entriesOf(head: Head, prevIndex: number, bytes: Bytes): readonly Entry[] {
  const list = head.list('entries', MAX_FRAME_ENTRIES);
  return list.map((each, at) => {
    const [epoch, length]: readonly unknown[] = Array.isArray(each) && each.length === 2 ? each : [];
    if (!isIndex(epoch) || !(length === -1 || isIndex(length))) throw new FrameError('has an entry that is none');
    return { index: prevIndex + 1 + at, epoch, payload: length === -1 ? undefined : bytes.take(length) };
  });
}

function partOf(head: Head, bytes: Bytes): CopyPart {
  const part = head.head('part');
  const [from, to] = [part.text('from', MAX_CURSOR_LENGTH), part.text('to', MAX_CURSOR_LENGTH)];
  const last = part.flag('last');
  // A part that brings nothing new, and is not the last one, would be asked for again and again.
  if (!last && to <= from) throw new FrameError('has a part of a copy that leads nowhere');
  return { from, to, last, chunk: bytes.take(part.integer('bytes')) };
}

function baseOf(base: Head): LogBase {
  return { index: base.integer('index'), epoch: base.integer('epoch') };
}

function frameOf(head: object, blobs: readonly Uint8Array[]): Uint8Array {
  const text = encoder.encode(JSON.stringify(head));
  const frame = new Uint8Array(blobs.reduce((sum, { length }) => sum + length, LENGTH_BYTES + text.length));
  new DataView(frame.buffer).setUint32(0, text.length);
  frame.set(text, LENGTH_BYTES);
  let position = LENGTH_BYTES + text.length;
  for (const blob of blobs) {
    frame.set(blob, position);
    position += blob.length;
  }
  return frame;
}

function headOf(bytes: Uint8Array): Head {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch {
    throw new FrameError('has a head that is not JSON');
  }
  if (!isObject(value)) throw new FrameError('has a head that is no object');
  return new Head(value, (problem) => new FrameError(problem));
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** What lies behind the head, taken piece by piece. */
class Bytes {
  #left: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#left = bytes;
  }

  /** A copy: what it was taken from is only lent. */
  take(length: number): Uint8Array {
    if (length > this.#left.length) throw new FrameError('is cut');
    const taken = new Uint8Array(this.#left.subarray(0, length));
    this.#left = this.#left.subarray(length);
    return taken;
  }

  assertEnd(): void {
    if (this.#left.length > 0) throw new FrameError(`has ${this.#left.length} bytes that its head does not count`);
  }
}
