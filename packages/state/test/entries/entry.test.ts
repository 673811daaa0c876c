import { MalformedError } from '@holdfast/protocol';
import { describe, expect, it } from 'vitest';

import {
  ENTRY_HEADER_BYTES,
  decodeEntryHeader,
  encodeEntry,
  entryPayload,
  stampEntry,
  type EntryHeader,
} from '../../src/entries/entry.ts';

const LARGEST: EntryHeader = {
  command: 255,
  generation: 2 ** 32 - 1,
  session: Number.MAX_SAFE_INTEGER,
  number: Number.MAX_SAFE_INTEGER - 1,
  ackedUpTo: Number.MAX_SAFE_INTEGER - 2,
};
const SMALL: EntryHeader = { command: 1, generation: 2, session: 3, number: 4, ackedUpTo: 5 };
const WRITTEN = { version: 1, group: 0, stamp: 0, via: 0 };

/** The entry as a part of something larger, as in a frame. */
function within(entry: Uint8Array): Uint8Array {
  const frame = new Uint8Array(entry.length + 20).fill(0xee);
  frame.set(entry, 7);
  return frame.subarray(7, 7 + entry.length);
}

describe('an entry', () => {
  it('gives back its header and payload, wherever it stands, whatever was encoded and decoded before and after', () => {
    const large = encodeEntry(LARGEST, Uint8Array.of(1, 2, 3));
    const small = encodeEntry(SMALL, new Uint8Array(0));
    const first = decodeEntryHeader(within(large));
    expect(decodeEntryHeader(within(small))).toEqual({ ...SMALL, ...WRITTEN });
    expect(first).toEqual({ ...LARGEST, ...WRITTEN });
    expect([...entryPayload(within(large))]).toEqual([1, 2, 3]);
    expect(entryPayload(small)).toHaveLength(0);
  });

  it('has nothing of the entry before in the fields that are reserved', () => {
    const entry = encodeEntry(LARGEST, new Uint8Array(0));
    stampEntry(entry, 1e15, 3);
    entry.fill(0xff, 40);
    decodeEntryHeader(entry);
    expect([...encodeEntry(SMALL, new Uint8Array(0)).subarray(32)]).toEqual(Array<number>(16).fill(0));
  });

  it('takes a stamp in whole milliseconds and the server through which it came, and keeps everything else', () => {
    const entry = within(encodeEntry(LARGEST, Uint8Array.of(9)));
    stampEntry(entry, 1_700_000_000_123.9, 2 ** 32 - 2);
    expect(decodeEntryHeader(entry)).toEqual({ ...LARGEST, ...WRITTEN, stamp: 1_700_000_000_123, via: 2 ** 32 - 2 });
    expect([...entryPayload(entry)]).toEqual([9]);
  });

  it('has its payload behind identities of a later version', () => {
    const entry = encodeEntry(
      SMALL,
      Uint8Array.from({ length: 1_000 }, (_, n) => n % 256),
    );
    new DataView(entry.buffer, entry.byteOffset).setUint32(40, 0x1_02, true);
    expect(entryPayload(entry)).toEqual(entry.subarray(ENTRY_HEADER_BYTES + 0x1_02));
  });

  it('is malformed when it is cut within its header, or within its identities, however long they say they are', () => {
    const entry = encodeEntry(SMALL, Uint8Array.of(1));
    expect(() => decodeEntryHeader(entry.subarray(0, ENTRY_HEADER_BYTES - 1))).toThrow(MalformedError);
    for (const length of [2, 0x1_00_00, 0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_ff]) {
      new DataView(entry.buffer, entry.byteOffset).setUint32(40, length, true);
      expect(() => entryPayload(entry)).toThrow('ends within its identities');
    }
  });
});
