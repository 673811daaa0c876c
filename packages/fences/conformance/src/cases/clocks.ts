/** A clock that jumps, as after a machine has slept, or when somebody sets it: a token is no time, and does not become old. */

import { defineCase, type ConformanceCase } from '../case.ts';
import { expectAccepted, expectRefused, expectValue, outcomeOf } from '../checks.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;
const JUMPS_MS: readonly number[] = [10 * 365 * DAY_MS, -10 * 365 * DAY_MS, DAY_MS, -DAY_MS];

export const clockCases: readonly ConformanceCase[] = [
  defineCase('a clock that jumps lets no older holder in', [], async ({ resource }) => {
    const scope = await resource.scope();
    await expectAccepted('a write under 7', () => resource.write(scope, { token: 7 }, 'mine'));
    for (const jumpMs of JUMPS_MS) {
      const when = `while the clock of this process is ${jumpMs / DAY_MS} days off`;
      await withClock(jumpMs, async () => {
        await expectRefused(`a write under 6 ${when}`, () => resource.write(scope, { token: 6 }, 'stale'));
        await expectRefused(`an install of 5 ${when}`, () => resource.install(scope, { token: 5 }));
        await outcomeOf(`a write under 7 ${when}`, () => resource.write(scope, { token: 7 }, 'mine'));
      });
      await expectRefused('a write under 6 when it is right again', () => resource.write(scope, { token: 6 }, 'stale'));
    }
    await expectValue(resource, scope, 'mine', 'stale writes must change nothing');
    await expectAccepted('a write under 8', () => resource.write(scope, { token: 8 }, 'newer'));
  }),
];

/** What is within reach of a test: the clock of the process that asks. */
async function withClock(offMs: number, work: () => Promise<void>): Promise<void> {
  const RightDate = globalThis.Date;
  class WrongDate extends RightDate {
    constructor(...given: readonly (string | number)[]) {
      if (given.length === 0) super(RightDate.now() + offMs);
      else super(...(given as readonly [number]));
    }

    static override now(): number {
      return RightDate.now() + offMs;
    }
  }
  Object.assign(globalThis, { Date: WrongDate });
  try {
    await work();
  } finally {
    Object.assign(globalThis, { Date: RightDate });
  }
}
