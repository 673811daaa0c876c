import { describe, expect, it } from 'vitest';

import { EntryType, logIndex, term, type Entry } from '../../../src/core/index.ts';
import { ENTRY_HEADER_BYTES } from '../../../src/log-store/format/entry-block.ts';
import { encodeBatch, frameBytes, FrameType, parseFrameHeader } from '../../../src/log-store/format/frame.ts';

const MIB = 1024 * 1024;

function entries(...sizes: readonly number[]): Entry[] {
  return sizes.map((bytes, at) => ({
    index: logIndex(at + 1),
    term: term(1),
    type: EntryType.command,
    data: new Uint8Array(bytes - ENTRY_HEADER_BYTES),
  }));
}

/** How many frames of entries the batch has. */
function framesOf(batch: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < batch.length;) {
    const header = parseFrameHeader(batch.subarray(at));
    if (header === undefined) throw new Error(`there is no frame at ${at}`);
    if (header.type === FrameType.entries) count += 1;
    at += frameBytes(header.payloadBytes);
  }
  return count;
}

describe('the entries of a batch', () => {
  it.each([
    ['that fill a frame just so, in one', [MIB / 2, MIB / 2], 1],
    ['that fill frames just so, in as many', [MIB / 2, MIB / 2, MIB / 4, (3 * MIB) / 4], 2],
    ['that are a byte more, in two', [MIB / 2, MIB / 2 + 1], 2],
    ['that are each larger than a frame, in one each', [2 * MIB, 2 * MIB], 2],
    ['of which the first is larger than a frame, in one of its own', [2 * MIB, 100, 100], 2],
  ])('are kept, %s', (_, sizes, frames) => {
    expect(framesOf(encodeBatch({ entries: entries(...sizes) }, 0))).toBe(frames);
  });
});
