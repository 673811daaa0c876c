/**
 * No lost wake-up: the entry that frees a lock grants it to all who may have it now, in turn; and an acquire is answered at once how it stands:
 * it holds what it asks for where nobody is in its way at any of its locks, none of which is delayed, and nowhere else.
 */

import { admits, grantable, wantedBy } from '../../models/lock-model.ts';
import { changed, type ReportedAcquire } from '../../observation/acquires.ts';
import { appliedCommand, type Step } from '../../observation/step.ts';
import { endedInDeadlock } from '../../observation/taken-away.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function waitersAreServed(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'a free lock is granted at once',
    observe(step) {
      answered(step, acquires);
      for (const change of step.changes) acquires = changed(acquires, change);
      const [waiter] = grantable(acquires, step.after.delays);
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
  if (applied === undefined) return;
  const { command, reply } = applied;
  if (command.type !== 'acquire' && command.type !== 'acquireSeveral' && command.type !== 'acquireWith') return;
  const { delays } = step.before;
  const wanted = wantedBy(command, step.before, acquires);
  // What nobody can have, and limits, are looked at by other promises.
  if (wanted === undefined || reply.type === 'error') return;
  const names = wanted.map(({ lock }) => lock).join(', ');
  const taken = wanted.filter((each) => !admits(acquires, each, delays));
  if (reply.type === 'lockHeld') {
    const { session, acquireIndex, token } = reply.holder;
    // Where nobody holds it, whose loss delays it, or whoever waits first: for another lock, too.
    const first = taken.map(({ lock }) => {
      const queue = acquires.filter((acquire) => acquire.lock === lock);
      const delay = delays.get(lock);
      const lost = delay === undefined ? undefined : { session: 0, acquireIndex: 0, token: delay.token };
      return queue.find((acquire) => acquire.token !== 0) ?? lost ?? queue[0];
    });
    const named = first.some(
      (each) => each?.acquireIndex === acquireIndex && each.session === session && each.token === token,
    );
    demand(
      !command.wait && named,
      () =>
        `an acquire (wait ${command.wait}) of ${names} was notified of the holder ${acquireIndex}, where ${taken.map(({ lock }) => lock).join(', ') || 'no lock'} is not free`,
    );
  } else if (reply.type === 'acquire' && endedInDeadlock(step).length === 0) {
    // Otherwise whoever was in its way may have gone by the same entry.
    demand(command.wait || reply.token !== 0, () => `a try of ${names} was put in the queue`);
    demand(
      (reply.token !== 0) === (taken.length === 0),
      () =>
        `acquire ${reply.acquireIndex} of ${names} ${reply.token === 0 ? 'waits' : 'holds'}, where ${taken.map(({ lock }) => lock).join(', ') || 'no lock'} is not free`,
    );
  }
}
