/** What one entry's outputs say of the queues: who came, who went, who was granted. Removals come first, as they do in an entry. */

import { requestOf } from '../../models/holders.ts';
import type { LockChange } from './lock-change.ts';
import { appliedCommand, type Step } from './step.ts';
import { allAcquires } from './view.ts';

const ORDER = { removed: 0, ended: 0, raised: 1, converted: 1, entered: 1, enqueued: 2, granted: 2 } as const;

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
  for (const lock of revokedLocks(reported)) changes.push({ type: 'raised', lock, token: reported.index });
  const own = ownChange(reported);
  if (own !== undefined) changes.push(own);
  return changes.length < 2 ? changes : changes.sort((left, right) => ORDER[left.type] - ORDER[right.type]);
}

/** An answer from memory says nothing new. */
function ownChange(reported: Pick<Step, 'index' | 'input' | 'outputs' | 'before'>): LockChange | undefined {
  const applied = appliedCommand(reported);
  if (applied === undefined) return undefined;
  const { session, command, reply } = applied;
  const kindOf = (lock: string): number | undefined => reported.before.locks.find((each) => each.lock === lock)?.kind;
  if (command.type === 'acquire' && (reply.type === 'acquire' || reply.type === 'sharedAcquire')) {
    const { acquireIndex, token } = reply;
    // One that was there has been entered again.
    if (acquireIndex !== reported.index) return { type: 'entered', acquireIndex, times: 1 };
    const request = requestOf(command.kind, command.parameters);
    return { type: 'enqueued', session, lock: command.lock, acquireIndex, token, request };
  }
  if (command.type === 'convert' && reply.type === 'sharedAcquire') {
    const { lock, acquireIndex, parameters } = command;
    return { type: 'converted', acquireIndex, request: requestOf(kindOf(lock), parameters) };
  }
  const gone =
    (command.type === 'release' && reply.type === 'done') || (command.type === 'cancel' && reply.type === 'cancelled');
  if (!gone) return undefined;
  const { lock, acquireIndex } = command;
  const place = reported.before.queues.get(lock)?.find((entry) => entry.acquireIndex === acquireIndex);
  return (place?.entries ?? 1) > 1
    ? { type: 'entered', acquireIndex, times: -1 }
    : { type: 'removed', session, lock, acquireIndex };
}

/** Of which an operator has taken a hold away, in order of their names. */
function revokedLocks({ outputs, before }: Pick<Step, 'outputs' | 'before'>): readonly string[] {
  const lost = outputs.filter((output) => output.type === 'lost' && output.reason === 'revoked');
  const indexes = new Set(lost.map((output) => ('acquireIndex' in output ? output.acquireIndex : 0)));
  const ended = new Set(
    outputs.flatMap((output) => (output.type === 'sessionEnded' && output.reason === 'revoked' ? output.session : [])),
  );
  const taken = allAcquires(before).filter(
    ({ session, acquireIndex, token }) => token !== 0 && (indexes.has(acquireIndex) || ended.has(session)),
  );
  return [...new Set(taken.map(({ lock }) => lock))].sort();
}
