import { silentLogger } from '@holdfast/runtime';
import { describe, expect, it } from 'vitest';
import { SpareSegment } from '../../../src/log-store/segments/spare-segment.ts';
import { onMachine, type Machine } from '../support/machine.ts';

const DIRECTORY = '/log';
const SEGMENT_BYTES = 4_096;
const SPARE = '/log/spare.recycled';
const OLD = '/log/old.wal';
const NEXT = '/log/next.prepared';

async function withSegment(machine: Machine, bytes = SEGMENT_BYTES, path = OLD): Promise<void> {
  await machine.disk.makeDirectory(DIRECTORY);
  await machine.createFile(path, new Uint8Array(bytes).fill(7));
}

function spareOn({ disk }: Machine): SpareSegment {
  return new SpareSegment({ directory: DIRECTORY, segmentBytes: SEGMENT_BYTES }, { disk, logger: silentLogger });
}

describe('a spare segment', () => {
  it('has lost its old name for good when it is there, and is given to one', () =>
    onMachine(async (machine) => {
      await withSegment(machine);
      const spare = spareOn(machine);
      expect(await spare.offer(OLD)).toBe(true);
      expect(machine.durableFiles()).toEqual([SPARE]);
      const file = await spare.take(NEXT);
      expect(await file?.size()).toBe(SEGMENT_BYTES);
      expect(machine.files()).toEqual([NEXT]);
      expect(await spare.take(NEXT)).toBeUndefined();
    }));

  it('is given to nobody before its old name is gone for good', () =>
    onMachine(async (machine) => {
      await withSegment(machine);
      const spare = spareOn(machine);
      const offering = spare.offer(OLD);
      let looks = 0;
      for (; machine.durableFiles().includes(OLD); looks += 1) {
        expect(await spare.take(NEXT)).toBeUndefined();
        await machine.disk.list(DIRECTORY);
      }
      expect(looks).toBeGreaterThan(2);
      expect(await offering).toBe(true);
    }));

  it('is given to nobody when it is not known whether its old name is gone', () =>
    onMachine(async (machine) => {
      await withSegment(machine);
      const spare = spareOn(machine);
      machine.failNext('syncDirectory', 'IO');
      await expect(spare.offer(OLD)).rejects.toMatchObject({ code: 'IO' });
      expect(await spare.take(NEXT)).toBeUndefined();
    }));

  it.each([SEGMENT_BYTES / 2, SEGMENT_BYTES * 2])('is not made of a segment of %d bytes', (bytes) =>
    onMachine(async (machine) => {
      await withSegment(machine, bytes);
      expect(await spareOn(machine).offer(OLD)).toBe(false);
      expect(machine.files()).toEqual([OLD]);
    }),
  );

  it('is the only one', () =>
    onMachine(async (machine) => {
      await withSegment(machine);
      await withSegment(machine, SEGMENT_BYTES, '/log/other.wal');
      const spare = spareOn(machine);
      expect(await Promise.all([spare.offer(OLD), spare.offer('/log/other.wal')])).toEqual([true, false]);
      expect(machine.files()).toEqual(['/log/other.wal', SPARE]);
    }));

  it('is taken up again by the next run, if segments still have its size, and removed otherwise', () =>
    onMachine(async (machine) => {
      for (const bytes of [SEGMENT_BYTES, SEGMENT_BYTES / 2]) {
        await withSegment(machine, bytes, SPARE);
        const spare = spareOn(machine);
        await spare.find();
        const file = await spare.take(NEXT);
        expect(file === undefined).toBe(bytes !== SEGMENT_BYTES);
        expect(machine.files()).toEqual(file === undefined ? [] : [NEXT]);
        if (file !== undefined) await machine.disk.remove(NEXT);
      }
    }));

  it('goes when the disk is short of room, and none comes until there is some', () =>
    onMachine(async (machine) => {
      await withSegment(machine);
      const spare = spareOn(machine);
      await spare.offer(OLD);
      spare.allow(false);
      await machine.quiesce();
      expect(machine.files()).toEqual([]);
      await withSegment(machine);
      expect(await spare.offer(OLD)).toBe(false);
      spare.allow(true);
      expect(await spare.offer(OLD)).toBe(true);
    }));

  it('goes even when the disk became short of room while it came', () =>
    onMachine(async (machine) => {
      await withSegment(machine);
      const spare = spareOn(machine);
      const offering = spare.offer(OLD);
      spare.allow(false);
      expect(await offering).toBe(true);
      await spare.close();
      expect(machine.files()).toEqual([]);
    }));

  it('is said to be given up only where there is one', () =>
    onMachine(async (machine) => {
      const said: string[] = [];
      const logger = { ...silentLogger, info: (_fields: object, message: string) => void said.push(message) };
      await withSegment(machine);
      const spare = new SpareSegment(
        { directory: DIRECTORY, segmentBytes: SEGMENT_BYTES },
        { disk: machine.disk, logger },
      );
      spare.allow(false);
      await machine.quiesce();
      expect(said).toEqual([]);
      spare.allow(true);
      await spare.offer(OLD);
      spare.allow(false);
      spare.allow(false);
      await machine.quiesce();
      expect(said).toEqual(['gave up the spare log segment: the disk is short of room']);
    }));

  it('that somebody has removed by hand is not missed', () =>
    onMachine(async (machine) => {
      await withSegment(machine);
      const spare = spareOn(machine);
      await spare.offer(OLD);
      await machine.disk.remove(SPARE);
      expect(await spare.take(NEXT)).toBeUndefined();
      await withSegment(machine);
      expect(await spare.offer(OLD)).toBe(true);
    }));

  it('that cannot be removed stops nothing', () =>
    onMachine(async (machine) => {
      await withSegment(machine);
      const spare = spareOn(machine);
      await spare.offer(OLD);
      machine.failNext('remove', 'IO');
      spare.allow(false);
      await machine.quiesce();
      expect(await spare.take(NEXT)).toBeUndefined();
      await withSegment(machine);
      spare.allow(true);
      expect(await spare.offer(OLD)).toBe(true);
      expect(machine.files()).toEqual([SPARE]);
    }));
});
