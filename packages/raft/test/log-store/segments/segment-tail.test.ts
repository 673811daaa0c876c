import { describe, expect, it } from 'vitest';
import { scanTail, type SegmentTail } from '../../../src/log-store/segments/segment-tail.ts';
import { LOG_OPTIONS, nextPosition, SEGMENT_BYTES } from '../support/wal-fixture.ts';
import { onMachine } from '../support/machine.ts';
import { onLog } from '../support/written-log.ts';

const BATCHES = 4;

function flipBit(bytes: Uint8Array, at: number): void {
  bytes[at] = (bytes[at] ?? 0) ^ 1;
}

/** Behind batch `last` of a log in one segment, which `change` has altered. */
async function tailBehind(last: number, change: (bytes: Uint8Array, ends: readonly number[]) => void = () => {}) {
  let tail: SegmentTail | undefined;
  let positions: number[] = [];
  await onLog(BATCHES, 100, async ({ machine, paths: [path = ''], ends }) => {
    const bytes = Uint8Array.from(machine.bytes(path));
    change(bytes, ends);
    await machine.overwrite(path, 0, bytes);
    positions = ends.map(nextPosition);
    const file = await machine.disk.open(path, 'existing');
    const from = positions[last - 1] ?? 0;
    tail = await scanTail(file, { ...LOG_OPTIONS, segment: 1, sizeBytes: SEGMENT_BYTES, from });
    await file.close();
  });
  return { tail, positions };
}

describe('what lies behind the last batch of a segment', () => {
  it('is nothing when there are zeros', async () => {
    const { tail, positions } = await tailBehind(BATCHES);
    expect(tail).toEqual({ usedTo: positions.at(-1), validAt: undefined });
  });

  it('is nothing when the zeros go on for pieces of the file', () =>
    onMachine(async (machine) => {
      const sizeBytes = 3 * 1024 * 1024;
      const bytes = new Uint8Array(sizeBytes);
      bytes[4_000] = 1;
      await machine.disk.makeDirectory('/data');
      await machine.createFile('/data/segment', bytes);
      const file = await machine.disk.open('/data/segment', 'existing');
      const of = { ...LOG_OPTIONS, segment: 1, sizeBytes };
      expect(await scanTail(file, { ...of, from: 0 })).toEqual({ usedTo: 4_001, validAt: undefined });
      expect(await scanTail(file, { ...of, from: 4_001 })).toEqual({ usedTo: 4_001, validAt: undefined });
      await file.close();
    }));

  it('is a torn write when no batch in it is valid', async () => {
    const { tail, positions } = await tailBehind(BATCHES - 1, (bytes, ends) => {
      flipBit(bytes, (ends.at(-1) ?? 0) - 20);
    });
    expect(tail?.validAt).toBeUndefined();
    expect(tail?.usedTo).toBeGreaterThan(positions.at(-2) ?? 0);
  });

  it('is a valid batch, though what leads to it is damaged', async () => {
    const { tail, positions } = await tailBehind(1, (bytes, ends) => {
      flipBit(bytes, (ends[1] ?? 0) - 20);
    });
    expect(tail?.validAt).toBe(positions[1]);
  });

  it('may begin with zeros', async () => {
    const { tail, positions } = await tailBehind(1, (bytes, ends) => {
      bytes.fill(0, nextPosition(ends[0] ?? 0), nextPosition(ends[1] ?? 0));
    });
    expect(tail?.validAt).toBe(positions[1]);
  });
});
