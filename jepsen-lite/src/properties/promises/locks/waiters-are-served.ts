/**
 * No lost wake-up: the entry that frees a lock grants it to all who may have it now, in turn; and an acquire is answered at once how it stands:
 * it holds what it asks for where nobody is in its way at any of its locks, and nowhere else.
 */

import { admits, grantable, wantedBy } from '../../models/lock-model.ts';
import { changed, type ReportedAcquire } from '../../observation/acquires.ts';
import { appliedCommand, type Step } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function waitersAreServed(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'a free lock is granted at once',
    observe(step) {
      answered(step, acquires);
      for (const change of step.changes) acquires = changed(acquires, change);
      const [waiter] = grantable(acquires);
      demand(waiter === undefined, () => {
        const { acquireIndex = 0, lock = '' } = waiter ?? {};
        const holders = acquires.filter((other) => other.lock === lock && other.token !== 0);
        const names = holders.map((each) => each.acquireIndex).join(', ') || 'nobody';
        return `acquire ${acquireIndex} waits for lock ${lock}, which ${names} was reported to hold, and for no other`;
      });
    },
  };
}

/** `acquires`: before it was applied. */
function answered(step: Step, acquires: readonly ReportedAcquire[]): void {
  const applied = appliedCommand(step);
  if (applied?.command.type !== 'acquire' && applied?.command.type !== 'acquireSeveral') return;
  const { command, reply } = applied;
  const wanted = wantedBy(command, step.before.stateVersion, acquires);
  // What nobody can have, and limits, are looked at by other promises.
  if (wanted === undefined || reply.type === 'error') return;
  const names = wanted.map(({ lock }) => lock).join(', ');
  const taken = wanted.filter((each) => !admits(acquires, each));
  if (reply.type === 'lockHeld') {
    const { session, acquireIndex, token } = reply.holder;
    // Where nobody holds it, whoever waits first: for another lock, too.
    const first = taken.map(({ lock }) => {
      const queue = acquires.filter((acquire) => acquire.lock === lock);
      return queue.find((acquire) => acquire.token !== 0) ?? queue[0];
    });
    const named = first.some(
      (each) => each?.acquireIndex === acquireIndex && each.session === session && each.token === token,
    );
    demand(
      !command.wait && named,
      () =>
        `an acquire (wait ${command.wait}) of ${names} was notified of the holder ${acquireIndex}, where ${taken.map(({ lock }) => lock).join(', ') || 'no lock'} is not free`,
    );
  } else if (reply.type === 'acquire') {
    demand(command.wait || reply.token !== 0, () => `a try of ${names} was put in the queue`);
    demand(
      (reply.token !== 0) === (taken.length === 0),
      () =>
        `acquire ${reply.acquireIndex} of ${names} ${reply.token === 0 ? 'waits' : 'holds'}, where ${taken.map(({ lock }) => lock).join(', ') || 'no lock'} is not free`,
    );
  }
}
