import { describe, expect, it } from 'vitest';
import { acknowledgedPlace, type LogSegment } from '../../src/targets/acknowledged-log.ts';

const COMMIT_FRAME = [5, 0x48, 0x46, 0x57, 8, 0, 0, 0];

/** Batches of these many bytes, their commit frames included, and zeros behind them. */
function segment(path: string, batches: readonly number[], zeros = 500): LogSegment {
  const parts = batches.map((bytes) => {
    const batch = Buffer.alloc(bytes, 1);
    Buffer.from(COMMIT_FRAME).copy(batch, bytes - 16);
    batch.writeUInt32LE(bytes, bytes - 8);
    return batch;
  });
  return { path, bytes: Buffer.concat([...parts, Buffer.alloc(zeros)]) };
}

describe('what a log has acknowledged for good', () => {
  const log = [segment('1.wal', [3_000, 1_000, 500]), segment('2.wal', [2_000, 700])];

  it('ends in each segment before the last batch', () => {
    expect(acknowledgedPlace(log, 0)).toEqual({ path: '1.wal', offset: 0 });
    expect(acknowledgedPlace(log, 3_999.5 / 6_000)).toEqual({ path: '1.wal', offset: 3_999 });
    expect(acknowledgedPlace(log, 4_000.5 / 6_000)).toEqual({ path: '2.wal', offset: 0 });
    expect(acknowledgedPlace(log, 0.999_99)).toEqual({ path: '2.wal', offset: 1_999 });
  });

  it('is nothing in a log with less than 4 KiB of it', () => {
    expect(acknowledgedPlace([segment('1.wal', [4_095, 10_000])], 0.5)).toBeUndefined();
    expect(acknowledgedPlace([segment('1.wal', [4_096, 10_000])], 0.5)).toEqual({ path: '1.wal', offset: 2_048 });
    expect(acknowledgedPlace([{ path: '1.wal', bytes: Buffer.alloc(100_000) }], 0.5)).toBeUndefined();
  });
});
