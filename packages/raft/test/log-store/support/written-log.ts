/** A log of several batches, as a power failure leaves it: nothing marks its last batch as acknowledged. */

import { entry, vote } from './log-model.ts';
import { onMachine, type Machine } from './machine.ts';
import { openLog, segmentPaths, usedBytes } from './wal-fixture.ts';

export interface Written {
  readonly machine: Machine;
  readonly paths: string[];
  /** Where each batch of the last segment ends. */
  readonly ends: number[];
}

/** Runs a test on a log of several batches of one entry each, `bytes` large. */
export function onLog(batches: number, bytes: number, test: (written: Written) => Promise<void>): Promise<void> {
  return onMachine(async (machine) => {
    const store = await openLog(machine);
    const ends: number[] = [];
    for (let index = 1; index <= batches; index += 1) {
      await store.write({ ...(index === 1 ? { hardState: vote(1) } : {}), entries: [entry(index, 1, bytes)] });
      ends.push(usedBytes(machine, (await segmentPaths(machine)).at(-1) ?? ''));
    }
    // Not closed: a log that was has its last batch marked as acknowledged.
    machine.crash();
    await test({ machine, paths: await segmentPaths(machine), ends });
  });
}
