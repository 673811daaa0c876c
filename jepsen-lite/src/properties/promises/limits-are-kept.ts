/** What a limit forbids is refused with LIMIT_EXCEEDED, and nothing else is. */

import { lockKinds, pack, type AcquireOptions, type Command, type LockRequest } from '@holdfast/protocol';

import { LIMITS } from '../limits.ts';
import { admits, wantedBy, type Wanted } from '../models/lock-model.ts';
import { delayBytes, optionsLength, requestHeadBytes } from '../models/request-bytes.ts';
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
          counts.dataBytes - unbounded(step.after) <= LIMITS.maxTreeDataBytes &&
          delayClaims(step.after) <= LIMITS.maxLockDelays,
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
      if (isAcquire(applied?.command) && applied !== undefined) {
        const { session, reply } = applied;
        const command = applied.command as AcquireCommand;
        const wanted = wantedBy(command, before, acquires) ?? [];
        const free = command.wait || wanted.every((each) => admits(acquires, each, before.delays));
        const options = command.type === 'acquireWith' ? command : {};
        const full = wanted.length > 0 && free && isFull(before, session, wanted, options);
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

type AcquireCommand = Extract<Command, { type: 'acquire' | 'acquireSeveral' | 'acquireWith' }>;

function isAcquire(command: Command | undefined): command is AcquireCommand {
  const type = command?.type;
  return type === 'acquire' || type === 'acquireSeveral' || type === 'acquireWith';
}

/** What comes to the data of nodes without being looked at before: heads, and delays, which begin when nothing can be refused. */
function unbounded(view: View): number {
  return requestHeadBytes(allAcquires(view)) + delayBytes(view.delays.size);
}

/** Locks that are delayed, and places that may make one so. */
function delayClaims(view: View): number {
  return view.delays.size + allAcquires(view).filter(({ lockDelayMs = 0 }) => lockDelayMs > 0).length;
}

/** A lock may add its container and a queue node, and its request and the options are kept. */
function isFull(view: View, session: number, wanted: readonly Wanted[], options: Partial<AcquireOptions>): boolean {
  const { lockDelayMs = 0 } = options;
  const own = allAcquires(view).filter((acquire) => acquire.session === session).length;
  const optionBytes = optionsLength(options) * wanted.length;
  const bytes = wanted.reduce((sum, { request }) => sum + parametersLength(request), optionBytes);
  if (lockDelayMs > 0 && delayClaims(view) + wanted.length > LIMITS.maxLockDelays) return true;
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
