import { describe, expect, it } from 'vitest';
import { BatchReader } from '../../../src/log-store/format/batch-reader.ts';
import { FRAME_HEADER_BYTES, batchSeed, encodeBatch, logSeed } from '../../../src/log-store/format/frame.ts';
import { entry } from '../support/log-model.ts';
import { onMachine } from '../support/machine.ts';

const INCARNATION = 'disk';
const SEGMENT = 3;
const PATH = '/data/segment';
/** Behind the last batch. */
const REST_BYTES = 5_000;

describe('a reader of batches', () => {
  it('finds each, however many pieces of the file it takes to hold one', () =>
    onMachine(async (machine) => {
      const seed = logSeed(INCARNATION);
      const batches: Uint8Array[] = [];
      const starts: number[] = [];
      let sizeBytes = 0;
      for (const [at, bytes] of [10, 3_000, 1, 200, 64].entries()) {
        starts.push(sizeBytes);
        const batch = encodeBatch({ entries: [entry(at + 1, 1, bytes)] }, batchSeed(seed, SEGMENT, sizeBytes));
        batches.push(batch);
        sizeBytes += batch.length;
      }
      const end = sizeBytes;
      sizeBytes += REST_BYTES;
      await machine.disk.makeDirectory('/data');
      await machine.createFile(PATH, Buffer.concat([...batches, Buffer.alloc(REST_BYTES)]));
      for (const pieceBytes of [16, 100, 1_024, 100_000]) {
        const file = await machine.disk.open(PATH, 'existing');
        let longest = 0;
        const watched = {
          read: (position: number, length: number) => {
            longest = Math.max(longest, length);
            return file.read(position, length);
          },
        };
        const options = { incarnation: INCARNATION, segment: SEGMENT, sizeBytes, pieceBytes };
        const reader = new BatchReader({ ...file, ...watched } as typeof file, options);
        for (const [at, start] of starts.entries()) {
          const read = await reader.readAt(start);
          expect(read).toMatchObject({ kind: 'batch', end: starts[at + 1] ?? end });
          if (read.kind === 'batch')
            expect(read.batch.entries).toEqual([entry(at + 1, 1, [10, 3_000, 1, 200, 64][at] ?? 0)]);
        }
        expect(await reader.readAt(end)).toEqual({ kind: 'end' });
        // No more of the file at once than a piece, or what one batch needs.
        expect(longest).toBeLessThanOrEqual(Math.max(pieceBytes, 3_100));
        await file.close();
      }
    }));

  it('takes the end of the file for an end only where nothing begins', () =>
    onMachine(async (machine) => {
      await machine.disk.makeDirectory('/data');
      const batch = encodeBatch({ entries: [entry(1, 1, 10)] }, batchSeed(logSeed(INCARNATION), SEGMENT, 0));
      const ofBytes = async (bytes: Uint8Array): Promise<string> => {
        await machine.createFile(`/data/${bytes.length}`, bytes);
        const file = await machine.disk.open(`/data/${bytes.length}`, 'existing');
        const options = { incarnation: INCARNATION, segment: SEGMENT, sizeBytes: bytes.length, pieceBytes: 100 };
        const { kind } = await new BatchReader(file, options).readAt(0);
        await file.close();
        return kind;
      };
      expect(await ofBytes(batch)).toBe('batch');
      expect(await ofBytes(batch.subarray(0, -8))).toBe('invalid');
      expect(await ofBytes(batch.subarray(0, FRAME_HEADER_BYTES))).toBe('invalid');
      expect(await ofBytes(batch.subarray(0, FRAME_HEADER_BYTES - 1))).toBe('end');
      expect(await ofBytes(new Uint8Array(FRAME_HEADER_BYTES + 8))).toBe('end');
    }));
});
