/** Who shares a lock is told when the lowest token of all has risen: once an entry, for each lock where somebody stays for whom it has. */

import { changed, floorOf, type ReportedAcquire } from '../../observation/acquires.ts';
import { difference } from '../../observation/difference.ts';
import { outputsOf } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function floorsAreTold(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'a floor that rises is told',
    observe({ changes, outputs }) {
      const before = acquires;
      for (const change of changes) acquires = changed(acquires, change);
      const locks = [...new Set(before.map(({ lock }) => lock))].filter((lock) => hasRisen(before, acquires, lock));
      const told = outputsOf(outputs, 'floorRaised').map(({ lock }) => lock);
      const wrong = difference(told.toSorted(), locks.toSorted());
      demand(wrong === undefined, () => `of floors that have risen was told${wrong}`);
    },
  };
}

function hasRisen(before: readonly ReportedAcquire[], now: readonly ReportedAcquire[], lock: string): boolean {
  const earlier = floorOf(before, lock);
  const floor = floorOf(now, lock);
  if (earlier === undefined || floor === undefined || floor <= earlier) return false;
  const held = new Set(before.filter(({ token }) => token !== 0).map(({ acquireIndex }) => acquireIndex));
  return now.some((acquire) => acquire.lock === lock && held.has(acquire.acquireIndex));
}
