/** What a limit forbids is refused with LIMIT_EXCEEDED, and nothing else is. */

import { pack, type Command, type LockRequest } from '@holdfast/protocol';

import { mayJoin, requestOf } from '../../models/holders.ts';
import { LIMITS } from '../limits.ts';
import { allAcquires, ENTRIES_BYTES, EXTRA_HEAD_BYTES, type View } from '../observation/view.ts';
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
      const { command, session } = applied;
      const said = errorCode(applied.reply);
      // What cannot be asked of the lock, now or ever, is refused first.
      if (said === 'INVALID_ARGUMENT' || said === 'UNSUPPORTED') return;
      const full = wouldExceed(before, session, command);
      demand(
        (said === 'LIMIT_EXCEEDED') === full,
        () =>
          `acquire of lock ${command.lock} by session ${session}, ${full ? 'beyond' : 'within'} the limits, was answered ${JSON.stringify(applied.reply)}`,
      );
    },
  };
}

type AcquireCommand = Extract<Command, { readonly type: 'acquire' }>;

function wouldExceed(view: View, session: number, { lock, kind, parameters = [], wait }: AcquireCommand): boolean {
  const queue = (view.queues.get(lock) ?? []).map((entry) => ({
    ...entry,
    request: requestOf(kind, entry.parameters),
  }));
  const request = requestOf(kind, parameters);
  const [holder] = queue;
  if (holder?.session === session && request.type === 'reentrant' && isSameOwner(holder.request, request)) {
    const { entries = 1 } = holder;
    return entries >= request.limit || (entries === 1 && dataWouldExceed(view, ENTRIES_BYTES));
  }
  const holders = queue.filter(({ token }) => token !== 0);
  const free = holders.length === queue.length && mayJoin(holders, { request });
  if (!wait && !free) return false;
  const own = allAcquires(view).filter((acquire) => acquire.session === session).length;
  const nodes = own >= LIMITS.maxAcquiresPerSession || view.counts.nodes + 2 > LIMITS.maxNodes;
  return nodes || (parameters.length > 0 && dataWouldExceed(view, pack(parameters).length));
}

function isSameOwner(held: LockRequest, { owner }: { readonly owner: number }): boolean {
  return held.type === 'reentrant' && held.owner === owner;
}

/** Beside what each extra takes itself. */
function dataWouldExceed({ counts }: View, bytes: number): boolean {
  return counts.dataBytes + EXTRA_HEAD_BYTES + bytes > LIMITS.maxTreeDataBytes;
}
