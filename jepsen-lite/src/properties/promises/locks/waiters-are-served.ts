/** No lost wake-up: the entry that frees a lock grants it, and an acquire is told at once how it stands. */

import { changed, type ToldAcquire } from '../../observation/acquires.ts';
import { appliedCommand } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function waitersAreServed(): StatePromise {
  let acquires: readonly ToldAcquire[] = [];
  return {
    name: 'a free lock is granted at once',
    observe(step) {
      const applied = appliedCommand(step);
      if (applied?.command.type === 'acquire') {
        const { lock, wait } = applied.command;
        const holder = acquires.find((other) => other.lock === lock && other.token !== 0);
        const { reply } = applied;
        if (reply.type === 'lockHeld') {
          const { session, acquireIndex, token } = reply.holder;
          demand(
            !wait && holder?.acquireIndex === acquireIndex && holder.session === session && holder.token === token,
            () =>
              `an acquire (wait ${wait}) of lock ${lock} was told of the holder ${acquireIndex}, where ${holder?.acquireIndex ?? 'none'} holds`,
          );
        } else if (reply.type === 'acquire') {
          demand(wait || reply.token !== 0, () => `a try of lock ${lock} was put in the queue`);
        }
      }
      for (const change of step.changes) acquires = changed(acquires, change);
      for (const waiter of acquires.filter(({ token }) => token === 0)) {
        const { lock, acquireIndex } = waiter;
        const held = acquires.some((other) => other.lock === lock && other.token !== 0);
        demand(held, () => `acquire ${acquireIndex} waits for lock ${lock}, which nobody was told to hold`);
      }
    },
  };
}
