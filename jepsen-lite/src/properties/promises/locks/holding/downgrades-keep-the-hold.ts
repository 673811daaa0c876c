/**
 * Whoever holds a lock to write may go on reading: the same hold, under the same token. Nobody else can do that to it, and no other hold can
 * become less. Who is granted the lock by it is looked at by other promises, as for every entry.
 */

import type { Reply } from '@holdfast/protocol';

import { writes } from '../../../models/lock-model.ts';
import { changed, type ReportedAcquire } from '../../../observation/acquires.ts';
import { appliedCommand, errorCode, type Step } from '../../../observation/step.ts';
import type { StatePromise } from '../../../state-promise.ts';
import { demand } from '../../../demand.ts';

/** Since which state version there is such a command. */
const SINCE = 4;

export function downgradesKeepTheHold(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'a downgrade keeps the hold and its token',
    observe(step) {
      const applied = appliedCommand(step);
      if (applied?.command.type === 'downgrade') {
        const { session, command, reply } = applied;
        const { lock, acquireIndex } = command;
        const hold = acquires.find((each) => each.acquireIndex === acquireIndex && each.lock === lock);
        const own = hold?.session === session ? hold : undefined;
        const expected = step.before.stateVersion < SINCE ? 'UNSUPPORTED' : expectedOf(own);
        demand(
          said(reply) === expected,
          () =>
            `session ${session} downgraded acquire ${acquireIndex} of lock ${lock} (${JSON.stringify(own)}), which was to be answered ${expected}, and was answered ${JSON.stringify(reply)}`,
        );
        if (own !== undefined && expected === 'done') kept(step, own);
      }
      for (const change of step.changes) acquires = changed(acquires, change);
    },
  };
}

/** Of one that is one of several, too: at that lock it is as any other. */
function expectedOf(own: ReportedAcquire | undefined): string {
  if (own === undefined || own.token === 0) return 'NOT_HELD';
  return writes(own.request) ? 'done' : 'INVALID_ARGUMENT';
}

function said(reply: Reply): string {
  return errorCode(reply) ?? reply.type;
}

function kept({ after, query }: Step, { lock, acquireIndex, session, token }: ReportedAcquire): void {
  const shown = after.queues.get(lock)?.find((entry) => entry.acquireIndex === acquireIndex);
  demand(
    shown?.session === session && shown.token === token,
    () =>
      `acquire ${acquireIndex} of lock ${lock} was downgraded under token ${token}, and is ${JSON.stringify(shown)}`,
  );
  const answer = query({ type: 'verify', lock, acquireIndex });
  demand(
    answer.type === 'verify' && answer.token === token,
    () =>
      `verify of acquire ${acquireIndex} of lock ${lock}, which was downgraded, was answered ${JSON.stringify(answer)}`,
  );
}
