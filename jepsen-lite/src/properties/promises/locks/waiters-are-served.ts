/** No lost wake-up: the entry that frees a lock grants it, and an acquire is answered at once how it stands. */

import { mayJoin } from '../../../models/holders.ts';
import { changed, type ReportedAcquire } from '../../observation/acquires.ts';
import { appliedCommand } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function waitersAreServed(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'a free lock is granted at once',
    observe(step) {
      const applied = appliedCommand(step);
      if (applied?.command.type === 'acquire') {
        const { lock, wait } = applied.command;
        const holders = acquires.filter((other) => other.lock === lock && other.token !== 0);
        const { reply } = applied;
        if (reply.type === 'lockHeld') {
          const { session, acquireIndex, token } = reply.holder;
          const holder = holders.find((each) => each.acquireIndex === acquireIndex);
          demand(
            !wait && holder !== undefined && holder.session === session && holder.token === token,
            () =>
              `an acquire (wait ${wait}) of lock ${lock} was notified of the holder ${acquireIndex}, where ${holders.map((each) => each.acquireIndex).join(', ') || 'none'} holds`,
          );
        } else if (reply.type === 'acquire') {
          demand(wait || reply.token !== 0, () => `a try of lock ${lock} was put in the queue`);
        }
      }
      for (const change of step.changes) acquires = changed(acquires, change);
      const heads = new Map<string, ReportedAcquire>();
      for (const waiter of acquires) if (waiter.token === 0 && !heads.has(waiter.lock)) heads.set(waiter.lock, waiter);
      for (const [lock, head] of heads) {
        const holders = acquires.filter((other) => other.lock === lock && other.token !== 0);
        const names = holders.map(({ acquireIndex }) => acquireIndex).join(', ') || 'nobody';
        demand(
          !mayJoin(holders, head),
          () => `acquire ${head.acquireIndex} waits for lock ${lock}, which ${names} was reported to hold`,
        );
      }
    },
  };
}
