import { describe, expect, it } from 'vitest';
import { inspectWriteAheadLog } from '../../../src/log-store/recovery/inspect.ts';
import { entryRange, modelOf, vote } from '../support/log-model.ts';
import { LOG_OPTIONS, nextPosition, openLog, SEGMENT_BYTES } from '../support/wal-fixture.ts';
import { onLog } from '../support/written-log.ts';

describe('an inspection', () => {
  it('tells segments, last index and hard state, and changes nothing', () =>
    onLog(3, 3_000, async ({ machine, paths }) => {
      const before = machine.files().map((path) => machine.bytes(path));
      const summary = await inspectWriteAheadLog(LOG_OPTIONS, { disk: machine.disk });
      expect(summary).toMatchObject({
        hardState: vote(1),
        lastIndex: 3,
        lastTerm: 1,
        tornTail: undefined,
        damage: undefined,
      });
      expect(summary.segments.map(({ file }) => file)).toEqual(paths);
      for (const { sizeBytes, usedBytes } of summary.segments) {
        expect(sizeBytes).toBe(SEGMENT_BYTES);
        expect(usedBytes).toBeGreaterThan(3_000);
      }
      expect(machine.files().map((path) => machine.bytes(path))).toEqual(before);
      expect(await modelOf(await openLog(machine))).toEqual({
        hardState: vote(1),
        entries: entryRange(1, 3, 1, 3_000),
      });
    }));

  it('reports a torn tail without cutting it, and damage without failing', () =>
    onLog(6, 100, async ({ machine, paths, ends }) => {
      const [path = ''] = paths;
      machine.flipBit(path, (ends[4] ?? 0) + 40);
      const from = nextPosition(ends[4] ?? 0);
      for (let times = 0; times < 2; times += 1) {
        const { tornTail, lastIndex } = await inspectWriteAheadLog(LOG_OPTIONS, { disk: machine.disk });
        expect(tornTail).toEqual({ file: path, from, to: ends[5] });
        expect(lastIndex).toBe(5);
      }
      machine.flipBit(path, (ends[1] ?? 0) + 40);
      const { damage, lastIndex } = await inspectWriteAheadLog(LOG_OPTIONS, { disk: machine.disk });
      expect(damage?.file).toBe(path);
      expect(lastIndex).toBe(2);
    }));
});
