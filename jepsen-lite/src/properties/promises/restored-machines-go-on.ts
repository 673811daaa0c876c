/** Snapshots: whoever was restored from one, taken while entries were applied, is as one who applied every entry. */

import type { StatePromise } from '../state-promise.ts';
import { demand } from '../demand.ts';

export function restoredMachinesGoOn(): StatePromise {
  return {
    name: 'a machine restored from a snapshot goes on as one that never was',
    observe({ restoredDifference }) {
      demand(restoredDifference === undefined, () => restoredDifference ?? '');
    },
  };
}
