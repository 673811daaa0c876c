/**
 * The fencing token: the index of the entry that granted, above all earlier ones of its lock, also of locks that were idle since. Those
 * whom one entry lets hold together share it.
 */

import { mayHoldTogether } from '../../../../models/holders.ts';
import { changed, type ReportedAcquire } from '../../../observation/acquires.ts';
import type { StatePromise } from '../../../state-promise.ts';
import { demand } from '../../../demand.ts';

export function tokensRise(): StatePromise {
  const highest = new Map<string, number>();
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'a token is the index of its grant and above all earlier ones of its lock',
    observe({ index, changes, after }) {
      for (const change of changes) {
        acquires = changed(acquires, change);
        if ((change.type !== 'granted' && change.type !== 'enqueued') || change.token === 0) continue;
        const { lock, token } = change;
        const last = highest.get(lock) ?? 0;
        demand(token === index, () => `the entry at index ${index} granted lock ${lock} under token ${token}`);
        demand(
          token > last || isShared(acquires.filter((other) => other.lock === lock && other.token === token)),
          () => `lock ${lock} was granted under token ${token} after token ${last}`,
        );
        highest.set(lock, token);
      }
      for (const [lock, queue] of after.queues) {
        for (const { acquireIndex, token } of queue) {
          if (token === 0) continue;
          const place = acquires.find((acquire) => acquire.acquireIndex === acquireIndex && acquire.lock === lock);
          const granted = place?.token;
          demand(
            token === granted,
            () => `lock ${lock} is shown under token ${token}, and was granted under ${granted}`,
          );
        }
      }
    },
  };
}

function isShared(holders: readonly ReportedAcquire[]): boolean {
  return holders.length > 1 && mayHoldTogether(holders);
}
