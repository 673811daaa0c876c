/** Those who hold a lock may hold it together, of what was reported and of what is shown; of a mutex there is one. */

import { MUTEX } from '@holdfast/protocol';
import { inTheWay, mayHoldTogether, requestOf } from '../../../../models/holders.ts';
import { changed, type ReportedAcquire } from '../../../observation/acquires.ts';
import type { StatePromise } from '../../../state-promise.ts';
import { demand } from '../../../demand.ts';

type Holder = Omit<ReportedAcquire, 'token'>;

export function oneHolder(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  /** By acquire index and lock. */
  const holders = new Map<string, Holder>();
  return {
    name: 'a lock has no holders that may not hold it together',
    observe({ index, changes, after }) {
      for (const change of changes) {
        acquires = changed(acquires, change);
        if (change.type === 'removed') holders.delete(nameOf(change));
        else if (change.type === 'ended') {
          for (const [hold, { session }] of holders) if (session === change.session) holders.delete(hold);
        } else if (change.type === 'downgraded') {
          const holder = holders.get(nameOf(change));
          if (holder !== undefined) holders.set(nameOf(change), { ...holder, request: change.request });
        } else if (change.token !== 0) {
          const { session, lock, acquireIndex } = change;
          // Whoever never asked may hold with nobody.
          const asked = acquires.find((acquire) => acquire.acquireIndex === acquireIndex && acquire.lock === lock);
          const next = { session, lock, acquireIndex, request: asked?.request ?? MUTEX };
          const other = inTheWay(
            [...holders.values()].filter((holder) => holder.lock === lock),
            next,
          );
          demand(
            other === undefined,
            () => `lock ${lock} was granted to acquire ${acquireIndex}, while acquire ${other?.acquireIndex} holds it`,
          );
          holders.set(nameOf(change), next);
        }
      }
      for (const { lock, kind } of after.locks) {
        const shown = (after.queues.get(lock) ?? []).filter(({ token }) => token !== 0);
        // Whoever holds alone may.
        if (shown.length < 2) continue;
        const together = mayHoldTogether(shown.map(({ parameters }) => ({ request: requestOf(kind, parameters) })));
        demand(together, () => `at index ${index} lock ${lock} shows ${shown.length} holders`);
      }
    },
  };
}

function nameOf({ acquireIndex, lock }: { readonly acquireIndex: number; readonly lock: string }): string {
  return `${acquireIndex} ${lock}`;
}
