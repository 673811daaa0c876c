/** First come, first served: in order of the indexes of the acquires, and nobody is overtaken, by whomever he could hold the lock with. */

import { changed, type ReportedAcquire } from '../../observation/acquires.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function queueOrder(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'grants follow the order of the acquires',
    observe({ changes, after }) {
      for (const change of changes) {
        if ((change.type === 'granted' || change.type === 'enqueued') && change.token !== 0) {
          const { lock, acquireIndex } = change;
          const earlier = acquires.find(
            (other) => other.lock === lock && other.acquireIndex < acquireIndex && other.token === 0,
          );
          demand(
            earlier === undefined,
            () => `lock ${lock} was granted to acquire ${acquireIndex} before acquire ${earlier?.acquireIndex}`,
          );
        }
        acquires = changed(acquires, change);
      }
      for (const [lock, queue] of after.queues) {
        const sorted = queue.every(
          (entry, place) => place === 0 || entry.acquireIndex > (queue[place - 1]?.acquireIndex ?? 0),
        );
        demand(
          sorted,
          () =>
            `the queue of lock ${lock} is shown out of order: ${queue.map((entry) => entry.acquireIndex).join(', ')}`,
        );
      }
    },
  };
}
