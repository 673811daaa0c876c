import { silentLogger, type Logger } from '@holdfast/runtime';
import type { Tear } from '@holdfast/runtime/sim';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openWriteAheadLog } from '../../../src/log-store/wal/write-ahead-log.ts';
import { batchPlan, describeLogStore } from '../contract/conformance.ts';
import {
  after,
  contentOf,
  durableStateOf,
  EMPTY_MODEL,
  entry,
  entryRange,
  modelOf,
  planned,
  vote,
  type BatchPlan,
} from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';
import { LOG_OPTIONS, openLog, segmentPaths, usedBytes, writeTorn } from '../support/wal-fixture.ts';

describeLogStore('the write-ahead log', (test) =>
  onMachine((machine) =>
    test({
      open: () => openLog(machine),
      failNextWrite: (writtenShare) => machine.failNext('append', 'IO', { pathIncludes: '.wal', writtenShare }),
    }),
  ),
);

describeLogStore('the write-ahead log on a disk that is slow and hangs', (test) =>
  onMachine((machine) => {
    machine.slowDown({ minMs: 1, maxMs: 1_500 });
    return test({
      open: () => {
        machine.hang(5_000);
        return openLog(machine);
      },
      failNextWrite: (writtenShare) => {
        machine.hang(10_000);
        machine.failNext('append', 'IO', { pathIncludes: '.wal', writtenShare });
      },
    });
  }),
);

interface Life {
  readonly plans: readonly BatchPlan[];
  readonly powerFailureMs: number;
  readonly tear: Tear;
}

describe('a write-ahead log over power failures', () => {
  it('has everything that was acknowledged, and nothing by halves, whenever the power fails', async () => {
    const life = fc.record({
      plans: fc.array(batchPlan, { maxLength: 15 }),
      powerFailureMs: fc.double({ min: 0, max: 60, noNaN: true }),
      tear: fc.constantFrom<Tear>('none', 'all', 'random', 'random'),
    });
    const lives = fc.array(life, { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(lives, fc.nat(), (each, seed) => onMachine((machine) => liveThrough(machine, each), seed)),
      { numRuns: 600 },
    );
  });

  async function liveThrough(machine: Machine, lives: readonly Life[]): Promise<void> {
    let acknowledged = EMPTY_MODEL;
    for (const { plans, powerFailureMs, tear } of lives) {
      let submitted = acknowledged;
      const write = async () => {
        const store = await openLog(machine);
        for (const plan of plans) {
          const batch = planned(plan, acknowledged);
          submitted = after(acknowledged, batch);
          await store.write(batch);
          acknowledged = submitted;
        }
      };
      void write();
      await machine.crashAfter(powerFailureMs, tear);
      const store = await openLog(machine);
      const found = await modelOf(store);
      expect(store.durable).toEqual(durableStateOf(found));
      expect([acknowledged, submitted]).toContainEqual(found);
      acknowledged = found;
      await store.close();
    }
  }

  it('does not let a cut write come back behind a later, shorter one', () =>
    onMachine(async (machine) => {
      const first = await openLog(machine);
      await first.write({ hardState: vote(1), entries: entryRange(1, 2, 1) });
      await writeTorn(machine, first, { entries: entryRange(3, 12, 1, 200) });
      const second = await openLog(machine);
      expect(await contentOf(second)).toEqual(entryRange(1, 2, 1));
      await second.write({ entries: [entry(3, 1)] });
      machine.crash();
      const [path = ''] = await segmentPaths(machine);
      expect(usedBytes(machine, path)).toBeLessThan(600);
      expect(await contentOf(await openLog(machine))).toEqual(entryRange(1, 3, 1));
    }));

  it('says when it has cut a write that was never acknowledged', () =>
    onMachine(async (machine) => {
      const first = await openLog(machine);
      await first.write({ hardState: vote(1), entries: [entry(1, 1)] });
      await writeTorn(machine, first, { entries: entryRange(2, 8, 1, 200) });
      const lines: string[] = [];
      const logger: Logger = { ...silentLogger, info: (_fields, message) => lines.push(message), child: () => logger };
      await openWriteAheadLog(LOG_OPTIONS, { disk: machine.disk, logger });
      expect(lines).toContain('cut a write that was never acknowledged off the end of the log');
    }));
});
