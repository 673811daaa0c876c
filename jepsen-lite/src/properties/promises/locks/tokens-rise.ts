/** The fencing token: the index of the entry that granted, above all earlier ones of its lock, also of locks that were idle since. */

import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function tokensRise(): StatePromise {
  const highest = new Map<string, number>();
  return {
    name: 'a token is the index of its grant and above all earlier ones of its lock',
    observe({ index, changes, after }) {
      for (const change of changes) {
        if (change.type === 'removed' || change.type === 'ended' || change.token === 0) continue;
        const { lock, token } = change;
        const last = highest.get(lock) ?? 0;
        demand(token === index, () => `the entry at index ${index} granted lock ${lock} under token ${token}`);
        demand(token > last, () => `lock ${lock} was granted under token ${token} after token ${last}`);
        highest.set(lock, token);
      }
      for (const [lock, queue] of after.queues) {
        const shown = queue.find(({ token }) => token !== 0)?.token;
        demand(
          shown === undefined || shown === highest.get(lock),
          () => `lock ${lock} is shown under token ${shown}, and was granted last under ${highest.get(lock)}`,
        );
      }
    },
  };
}
