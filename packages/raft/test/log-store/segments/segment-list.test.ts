import { describe, expect, it } from 'vitest';
import { DamagedLogError } from '../../../src/log-store/errors/damaged-log-error.ts';
import { listSegments, segmentsToGap } from '../../../src/log-store/segments/segment-list.ts';
import { segmentFileName } from '../../../src/log-store/segments/segment-name.ts';
import { logIndex } from '../../../src/core/index.ts';
import { onMachine, type Machine } from '../support/machine.ts';

const DIRECTORY = '/log';

async function withFiles(machine: Machine, names: readonly string[]): Promise<void> {
  await machine.disk.makeDirectory(DIRECTORY);
  for (const name of names) await machine.createFile(`${DIRECTORY}/${name}`, new Uint8Array(8));
}

const segment = (number: number): string => segmentFileName({ number, firstIndex: logIndex(10 * number) });

describe('the segments of a directory', () => {
  it('come in order, whatever else is there', () =>
    onMachine(async (machine) => {
      await withFiles(machine, [segment(3), segment(2), 'next.prepared', 'spare.recycled', 'last-segment']);
      expect(await listSegments(DIRECTORY, machine.disk)).toEqual([
        { path: `${DIRECTORY}/${segment(2)}`, number: 2, firstIndex: 20 },
        { path: `${DIRECTORY}/${segment(3)}`, number: 3, firstIndex: 30 },
      ]);
    }));

  it('end before one that is missing, which is damage', () =>
    onMachine(async (machine) => {
      await withFiles(machine, [segment(1), segment(2), segment(4)]);
      const { files, gap } = await segmentsToGap(DIRECTORY, machine.disk);
      expect(files.map(({ number }) => number)).toEqual([1, 2]);
      expect(gap).toMatchObject({ file: `${DIRECTORY}/${segment(4)}`, foreign: false });
      await expect(listSegments(DIRECTORY, machine.disk)).rejects.toThrow(
        'segment 3, which comes before it, is missing',
      );
    }));

  it('are none where a file has a name that no segment has', () =>
    onMachine(async (machine) => {
      await withFiles(machine, [segment(1), 'copy.wal']);
      const error: unknown = await listSegments(DIRECTORY, machine.disk).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(DamagedLogError);
      expect(error).toMatchObject({ foreign: true });
    }));
});
