/** A wait whose session ended, earlier or by this very entry, is never granted. */

import { outputsOf } from '../../observation/step.ts';
import type { StatePromise } from '../../state-promise.ts';
import { demand } from '../../demand.ts';

export function grantsGoToTheLiving(): StatePromise {
  const living = new Set<number>();
  return {
    name: 'a grant goes to a living session',
    observe({ outputs, changes, after }) {
      for (const { reply } of outputsOf(outputs, 'attached')) if (reply.type === 'attached') living.add(reply.session);
      // An ended session is told of last, but is gone before the first grant of its entry.
      for (const { session } of outputsOf(outputs, 'sessionEnded')) living.delete(session);
      for (const change of changes) {
        if (change.type === 'removed' || change.type === 'ended') continue;
        const { session, lock, acquireIndex } = change;
        demand(
          living.has(session),
          () => `acquire ${acquireIndex} of lock ${lock} came to session ${session}, which has ended`,
        );
      }
      for (const [lock, queue] of after.queues) {
        const dead = queue.find(({ session }) => !living.has(session));
        demand(
          dead === undefined,
          () => `lock ${lock} shows acquire ${dead?.acquireIndex} of session ${dead?.session}, which has ended`,
        );
      }
    },
  };
}
