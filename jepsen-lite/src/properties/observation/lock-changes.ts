/**
 * What one entry's outputs say of the queues: who came, who went, who was granted. Removals come first, as they do in an entry. An acquire of
 * several locks is named by one of them, and changes at all.
 */

import type { Command } from '@holdfast/protocol';

import { requestOf, TO_READ } from '../../models/holders.ts';
import type { LockChange } from './lock-change.ts';
import { appliedCommand, type Step } from './step.ts';
import type { View } from './view.ts';

const ORDER = { removed: 0, ended: 0, downgraded: 0, enqueued: 1, granted: 1 } as const;

type Reported = Pick<Step, 'index' | 'input' | 'outputs' | 'before'>;

export function lockChanges(reported: Reported): readonly LockChange[] {
  const { before, outputs } = reported;
  const changes: LockChange[] = [];
  for (const output of outputs) {
    if (output.type === 'granted') changes.push(...atEachLock(before, { ...output }));
    else if (output.type === 'sessionEnded') changes.push({ type: 'ended', session: output.session });
    else if (output.type === 'lost') {
      const { session, lock, acquireIndex } = output;
      changes.push(...atEachLock(before, { type: 'removed', session, lock, acquireIndex }));
    }
  }
  changes.push(...ownChanges(reported));
  return changes.length < 2 ? changes : changes.sort((left, right) => ORDER[left.type] - ORDER[right.type]);
}

/** An answer from memory says nothing new. */
function ownChanges(reported: Reported): readonly LockChange[] {
  const applied = appliedCommand(reported);
  if (applied === undefined) return [];
  const { session, command, reply } = applied;
  if (command.type === 'acquire' || command.type === 'acquireSeveral' || command.type === 'acquireWith') {
    if (reply.type !== 'acquire') return [];
    const { acquireIndex, token } = reply;
    return wantedInOrder(command).map(({ lock, kind, parameters }) => {
      return { type: 'enqueued', session, lock, acquireIndex, token, request: requestOf(kind, parameters) };
    });
  }
  if (command.type === 'downgrade' && reply.type === 'done') {
    const { lock, acquireIndex } = command;
    return [{ type: 'downgraded', session, lock, acquireIndex, request: TO_READ }];
  }
  const gives =
    (command.type === 'release' && reply.type === 'done') || (command.type === 'cancel' && reply.type === 'cancelled');
  if (!gives) return [];
  const { lock, acquireIndex } = command;
  return atEachLock(reported.before, { type: 'removed', session, lock, acquireIndex });
}

/** In order of the locks' names, by code units. */
function wantedInOrder(
  command: Extract<Command, { readonly type: 'acquire' | 'acquireSeveral' | 'acquireWith' }>,
): readonly Pick<Extract<Command, { readonly type: 'acquire' }>, 'lock' | 'kind' | 'parameters'>[] {
  if (command.type === 'acquire') return [command];
  return command.locks.toSorted((left, right) => (left.lock < right.lock ? -1 : 1));
}

/** That change at each lock that the acquire is of, in order of their names; as it was reported, where nobody knows of any. */
function atEachLock(
  before: View,
  change: Extract<LockChange, { readonly type: 'removed' | 'granted' }>,
): readonly LockChange[] {
  const places = [...before.queues].flatMap(([lock, queue]) =>
    queue.some(({ acquireIndex }) => acquireIndex === change.acquireIndex) ? [lock] : [],
  );
  return places.length < 2 ? [change] : places.map((lock) => ({ ...change, lock }));
}
