/** Mutual exclusion, of what was told and of what is shown. */

import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function oneHolder(): StatePromise {
  const holders = new Map<number, { readonly session: number; readonly lock: string }>();
  return {
    name: 'a lock has one holder at most',
    observe({ index, changes, after }) {
      for (const change of changes) {
        if (change.type === 'removed') holders.delete(change.acquireIndex);
        else if (change.type === 'ended') {
          for (const [hold, { session }] of holders) if (session === change.session) holders.delete(hold);
        } else if (change.token !== 0) {
          const { session, lock, acquireIndex } = change;
          const other = [...holders].find(([, held]) => held.lock === lock);
          demand(
            other === undefined,
            () => `lock ${lock} was granted to acquire ${acquireIndex}, while acquire ${other?.[0]} holds it`,
          );
          holders.set(acquireIndex, { session, lock });
        }
      }
      for (const [lock, queue] of after.queues) {
        const shown = queue.filter(({ token }) => token !== 0).length;
        demand(shown <= 1, () => `at index ${index} lock ${lock} shows ${shown} holders`);
      }
    },
  };
}
