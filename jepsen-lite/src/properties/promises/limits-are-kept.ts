/** What a limit forbids is refused with LIMIT_EXCEEDED, and nothing else is. */

import { lockNameProblem } from '@holdfast/protocol';

import { LIMITS } from '../limits.ts';
import { allAcquires, type View } from '../observation/view.ts';
import { appliedCommand, errorCode, outputsOf } from '../observation/step.ts';
import type { StatePromise } from '../state-promise.ts';
import { demand } from '../demand.ts';

export function limitsAreKept(): StatePromise {
  return {
    name: 'limits refuse what would exceed them, and nothing else',
    observe(step) {
      const { counts } = step.after;
      demand(
        counts.sessions <= LIMITS.maxSessions &&
          counts.nodes <= LIMITS.maxNodes &&
          counts.dataBytes <= LIMITS.maxTreeDataBytes,
        () => `a limit is exceeded: ${JSON.stringify(counts)}`,
      );
      const { before } = step;
      const [attached] = outputsOf(step.outputs, 'attached');
      if (errorCode(attached?.reply) === 'LIMIT_EXCEEDED') {
        demand(
          before.counts.sessions >= LIMITS.maxSessions,
          () => `a session was refused beside ${before.counts.sessions} others`,
        );
      }
      const applied = appliedCommand(step);
      if (applied?.command.type !== 'acquire') return;
      const { lock, wait } = applied.command;
      const free = !before.queues.has(lock);
      const full = lockNameProblem(lock) === undefined && (wait || free) && isFull(before, applied.session);
      demand(
        (errorCode(applied.reply) === 'LIMIT_EXCEEDED') === full,
        () =>
          `acquire of lock ${lock} by session ${applied.session}, ${full ? 'beyond' : 'within'} the limits, was answered ${JSON.stringify(applied.reply)}`,
      );
    },
  };
}

function isFull(view: View, session: number): boolean {
  const own = allAcquires(view).filter((acquire) => acquire.session === session).length;
  return own >= LIMITS.maxAcquiresPerSession || view.counts.nodes + 2 > LIMITS.maxNodes;
}
