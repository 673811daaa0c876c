/**
 * A script of writes, and a power failure at every boundary of it: before each operation of the disk, and within each write with only
 * its first or its last sectors written (of one, its first bytes). No sampling: if a state of the disk is possible here, it is tried.
 */

import { SECTOR_BYTES } from '@holdfast/runtime/sim';
import { describe, expect, it } from 'vitest';
import { logIndex, term } from '../../../src/core/index.ts';
import type { LogStore, WriteBatch } from '../../../src/log-store/contract/log-store.ts';
import { CrashPoints, type DiskStep, type PowerCut } from '../support/crash-points.ts';
import {
  after,
  contentOf,
  durableStateOf,
  EMPTY_MODEL,
  entry,
  modelOf,
  planned,
  type BatchPlan,
  type LogModel,
} from '../support/log-model.ts';
import { onMachine, type Machine } from '../support/machine.ts';
import { openLog } from '../support/wal-fixture.ts';

/** Votes, batches that fill segments of 4 KiB and one that is larger than a segment, cuts of little and of all, a cut alone. */
const SCRIPT: readonly BatchPlan[] = [
  { termStep: 1, vote: 1, cut: 0, sizes: [] },
  { termStep: 0, vote: 0, cut: 0, sizes: [100, 700] },
  { termStep: 0, vote: 0, cut: 0, sizes: [2_500] },
  { termStep: 1, vote: 2, cut: 0, sizes: [] },
  { termStep: 0, vote: 0, cut: 0, sizes: [700, 700, 8] },
  { termStep: 1, vote: 0, cut: 2, sizes: [100] },
  { termStep: 0, vote: 0, cut: 0, sizes: [3_000, 3_000] },
  { termStep: 3, vote: 3, cut: 4, sizes: [7, 0, 8] },
  { termStep: 0, vote: 0, cut: 1, sizes: [] },
  { termStep: 0, vote: 0, cut: 0, sizes: [3_500] },
  { termStep: 1, vote: 1, cut: 50, sizes: [1] },
  { termStep: 0, vote: 0, cut: 0, sizes: [700, 8] },
];

/** For a cut at every byte. */
const SHORT_SCRIPT: readonly BatchPlan[] = [
  { termStep: 1, vote: 1, cut: 0, sizes: [8] },
  { termStep: 1, vote: 2, cut: 1, sizes: [50, 100] },
];

interface Progress {
  acknowledged: LogModel;
  submitted: LogModel;
}

async function play(store: LogStore, script: readonly BatchPlan[], progress: Progress): Promise<void> {
  for (const plan of script) {
    const batch = planned(plan, progress.acknowledged);
    progress.submitted = after(progress.acknowledged, batch);
    await store.write(batch);
    progress.acknowledged = progress.submitted;
  }
}

/** Runs the script on a new machine up to the power failure; tells what may be found, and the steps until then. */
async function playUntil(
  machine: Machine,
  cut?: PowerCut,
  script = SCRIPT,
): Promise<Progress & { readonly steps: readonly DiskStep[] }> {
  const points = new CrashPoints(machine, cut);
  const progress: Progress = { acknowledged: EMPTY_MODEL, submitted: EMPTY_MODEL };
  const all = openLog(machine, {}, points.on).then((store) => play(store, script, progress));
  await Promise.race([all, points.cut]);
  return { ...progress, steps: points.steps };
}

async function stepsOf(script = SCRIPT): Promise<readonly DiskStep[]> {
  let steps: readonly DiskStep[] = [];
  await onMachine(async (machine) => {
    ({ steps } = await playUntil(machine, undefined, script));
  });
  return steps;
}

/** All that was acknowledged, nothing by halves, and a log that goes on. */
async function expectWhole(machine: Machine, { acknowledged, submitted }: Progress, where: string): Promise<void> {
  const store = await openLog(machine);
  const found = await modelOf(store);
  expect(store.durable, where).toEqual(durableStateOf(found));
  expect([acknowledged, submitted], where).toContainEqual(found);
  const next = nextBatch(found);
  await store.write(next);
  const longer = after(found, next);
  expect(await contentOf(store, logIndex(longer.entries.length)), where).toEqual(longer.entries);
  machine.crash();
  expect(await modelOf(await openLog(machine)), where).toEqual(longer);
}

function nextBatch({ hardState, entries }: LogModel): WriteBatch {
  const nextTerm = term(hardState.term + 1);
  return {
    hardState: { term: nextTerm, votedFor: hardState.votedFor },
    entries: [entry(entries.length + 1, nextTerm, 600)],
  };
}

/** Each prefix and each rest of a write, cut at multiples of `unit`. */
function partsOf(step: number, bytes: number, unit: number): Extract<PowerCut, { type: 'within' }>[] {
  const cuts: Extract<PowerCut, { type: 'within' }>[] = [];
  for (let at = unit; at < bytes; at += unit) {
    cuts.push({ step, type: 'within', from: 0, to: at }, { step, type: 'within', from: at, to: bytes });
  }
  return cuts;
}

async function expectWholeAfter(cuts: readonly PowerCut[], steps: readonly DiskStep[], script = SCRIPT): Promise<void> {
  for (const cut of cuts) {
    await onMachine(async (machine) => {
      const progress = await playUntil(machine, cut, script);
      const where = `${JSON.stringify(cut)}: ${steps[cut.step]?.what}`;
      expect(progress.steps.length, where).toBe(cut.step + 1);
      await expectWhole(machine, progress, where);
    });
  }
}

describe('a log whose power fails', () => {
  it('before any operation of its disk has everything that was acknowledged, and goes on', async () => {
    const steps = await stepsOf();
    expect(steps.length).toBeGreaterThan(40);
    expect(steps.filter(({ what }) => what.startsWith('rename')).length).toBeGreaterThan(4);
    const cuts = steps.flatMap((_, step): PowerCut[] => [
      { step, type: 'before', unsynced: 'none' },
      { step, type: 'before', unsynced: 'all' },
    ]);
    await expectWholeAfter(cuts, steps);
  });

  it('within any write, with only its first or only its last sectors on the disk, has no half of it', async () => {
    const steps = await stepsOf();
    const cuts = steps.flatMap(({ bytes }, step) => partsOf(step, bytes, SECTOR_BYTES));
    expect(cuts.length).toBeGreaterThan(50);
    await expectWholeAfter(cuts, steps);
  });

  it('at any byte of a write has no half of it', async () => {
    const steps = await stepsOf(SHORT_SCRIPT);
    const last = steps.findLastIndex(({ what }) => what.includes('.wal'));
    expect(steps[last]?.bytes).toBeGreaterThan(200);
    const prefixes = partsOf(last, steps[last]?.bytes ?? 0, 1).filter(({ from }) => from === 0);
    await expectWholeAfter(prefixes, steps, SHORT_SCRIPT);
  });

  it('again while it recovers, before any operation and within any write of that, has lost nothing more', async () => {
    const steps = await stepsOf();
    const torn = steps.flatMap(({ what, bytes }, step) =>
      what.startsWith('append') && what.includes('.wal') ? partsOf(step, bytes, SECTOR_BYTES).slice(0, 2) : [],
    );
    const clean: PowerCut[] = [4, 9, steps.length - 1].map((step) => ({ step, type: 'before', unsynced: 'all' }));
    for (const first of [...torn, ...clean]) {
      for (const second of await cutsOfRecovery(first)) {
        await onMachine(async (machine) => {
          const progress = await playUntil(machine, first);
          const points = new CrashPoints(machine, second);
          await Promise.race([openLog(machine, {}, points.on), points.cut]);
          expect(points.steps.length).toBe(second.step + 1);
          await expectWhole(machine, progress, `${JSON.stringify(first)}, then ${JSON.stringify(second)}`);
        });
      }
    }
  });

  async function cutsOfRecovery(first: PowerCut): Promise<PowerCut[]> {
    const cuts: PowerCut[] = [];
    await onMachine(async (machine) => {
      await playUntil(machine, first);
      const points = new CrashPoints(machine);
      await (await openLog(machine, {}, points.on)).close();
      for (const [step, { bytes }] of points.steps.entries()) {
        cuts.push({ step, type: 'before', unsynced: 'none' }, { step, type: 'before', unsynced: 'all' });
        cuts.push(...partsOf(step, bytes, SECTOR_BYTES));
      }
    });
    return cuts;
  }
});
