/** What a limit forbids is refused with LIMIT_EXCEEDED, and nothing else is. */

import { lockKinds, pack, type LockRequest } from '@holdfast/protocol';

import { LIMITS } from '../limits.ts';
import { admits, wantedBy, type Wanted } from '../models/lock-model.ts';
import { requestHeadBytes } from '../models/request-bytes.ts';
import { changed, type ReportedAcquire } from '../observation/acquires.ts';
import { allAcquires, type View } from '../observation/view.ts';
import { appliedCommand, errorCode, outputsOf } from '../observation/step.ts';
import type { StatePromise } from '../state-promise.ts';
import { demand } from '../demand.ts';

export function limitsAreKept(): StatePromise {
  let acquires: readonly ReportedAcquire[] = [];
  return {
    name: 'limits refuse what would exceed them, and nothing else',
    observe(step) {
      const { counts } = step.after;
      demand(
        counts.sessions <= LIMITS.maxSessions &&
          counts.nodes <= LIMITS.maxNodes &&
          counts.dataBytes - requestHeadBytes(allAcquires(step.after)) <= LIMITS.maxTreeDataBytes,
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
      if (applied?.command.type === 'acquire' || applied?.command.type === 'acquireSeveral') {
        const { session, command, reply } = applied;
        const wanted = wantedBy(command, before.stateVersion, acquires) ?? [];
        const free = command.wait || wanted.every((each) => admits(acquires, each));
        const full = wanted.length > 0 && free && isFull(before, session, wanted);
        demand(
          (errorCode(reply) === 'LIMIT_EXCEEDED') === full,
          () =>
            `${JSON.stringify(command)} of session ${session}, ${full ? 'beyond' : 'within'} the limits, was answered ${JSON.stringify(reply)}`,
        );
      }
      for (const change of step.changes) acquires = changed(acquires, change);
    },
  };
}

/** A lock may add its container and a queue node, and its request is kept. */
function isFull(view: View, session: number, wanted: readonly Wanted[]): boolean {
  const own = allAcquires(view).filter((acquire) => acquire.session === session).length;
  const bytes = wanted.reduce((sum, { request }) => sum + parametersLength(request), 0);
  return (
    own + wanted.length > LIMITS.maxAcquiresPerSession ||
    view.counts.nodes + 2 * wanted.length > LIMITS.maxNodes ||
    (bytes > 0 && view.counts.dataBytes + bytes > LIMITS.maxTreeDataBytes)
  );
}

/** As it is asked for: that it is kept with a head is not looked at before. */
function parametersLength(request: LockRequest): number {
  const parameters = lockKinds.writeFields(request);
  return parameters.length === 0 ? 0 : pack(parameters).length;
}
