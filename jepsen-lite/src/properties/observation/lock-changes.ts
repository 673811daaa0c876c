/** What one entry's outputs say of the queues: who came, who went, who was granted. Removals come first, as they do in an entry. */

import { requestOf } from '../../models/holders.ts';
import type { LockChange } from './lock-change.ts';
import { appliedCommand, type Step } from './step.ts';

const ORDER = { removed: 0, ended: 0, enqueued: 1, granted: 1 } as const;

export function lockChanges(reported: Pick<Step, 'index' | 'input' | 'outputs' | 'before'>): readonly LockChange[] {
  const changes: LockChange[] = [];
  for (const output of reported.outputs) {
    if (output.type === 'granted') changes.push({ ...output });
    else if (output.type === 'sessionEnded') changes.push({ type: 'ended', session: output.session });
    else if (output.type === 'lost') {
      const { session, lock, acquireIndex } = output;
      changes.push({ type: 'removed', session, lock, acquireIndex });
    }
  }
  const own = ownChange(reported);
  if (own !== undefined) changes.push(own);
  return changes.length < 2 ? changes : changes.sort((left, right) => ORDER[left.type] - ORDER[right.type]);
}

/** An answer from memory says nothing new. */
function ownChange(reported: Pick<Step, 'index' | 'input' | 'outputs' | 'before'>): LockChange | undefined {
  const applied = appliedCommand(reported);
  if (applied === undefined) return undefined;
  const { session, command, reply } = applied;
  if (command.type === 'acquire' && reply.type === 'acquire') {
    const { acquireIndex, token } = reply;
    const request = requestOf(command.kind, command.parameters);
    return { type: 'enqueued', session, lock: command.lock, acquireIndex, token, request };
  }
  const gone =
    (command.type === 'release' && reply.type === 'done') || (command.type === 'cancel' && reply.type === 'cancelled');
  return gone ? { type: 'removed', session, lock: command.lock, acquireIndex: command.acquireIndex } : undefined;
}
